/** Which terms a run works on: those it was accepted with, or the latest that came with outputs of client tools. */
import type { LogRecord, RunRequest, RunTerms } from './records.ts';

function termsOf({ instructions, client_tools, output_form, settings }: RunRequest): RunTerms {
  return {
    ...(instructions === undefined ? {} : { instructions }),
    ...(client_tools === undefined ? {} : { client_tools }),
    ...(output_form === undefined ? {} : { output_form }),
    ...(settings === undefined ? {} : { settings }),
  };
}

/** The request with other terms, which replace all earlier ones. */
export function withTerms(request: RunRequest, terms: RunTerms): RunRequest {
  const { instructions: _, client_tools: __, output_form: ___, settings: ____, ...rest } = request;
  return { ...rest, ...terms };
}

/** The instructions of a run in a session with this prompt; undefined for none. */
export function withSessionPrompt(prompt: string | undefined, own: string | undefined): string | undefined {
  const told = [prompt, own].filter((text) => text !== undefined);
  return told.length === 0 ? undefined : told.join('\n\n');
}

/** The terms in a whole log. */
export function termsIn(log: readonly LogRecord[]): RunTerms {
  let terms: RunTerms = {};
  for (const record of log) {
    if (record.event === 'run.accepted') terms = termsOf(record.private);
    if (record.event === 'tool.answered') terms = record.private.terms ?? terms;
  }
  return terms;
}

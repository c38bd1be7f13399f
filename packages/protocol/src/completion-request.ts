/**
 * Reads the body of `POST /v1/completions`, OpenAI's older dialect: one text in, one text out. The agent gets the
 * prompt as a message. A field is refused if ignoring it would make a different answer than the client asked for.
 */
import { TalariaError } from './errors.ts';
import { invalid, optionalFlag, optionalString, parseObject } from './fields.ts';

export interface CreateCompletion {
  prompt: string;
  model: string | undefined;
  stream: boolean;
  /** The answer starts with the prompt (OpenAI's `echo`). */
  echo: boolean;
}

export function parseCreateCompletion(body: unknown): CreateCompletion {
  const fields = parseObject(body);
  const prompt = parsePrompt(fields.prompt);
  for (const name of ['n', 'best_of']) {
    const count = fields[name] ?? 1;
    if (count !== 1) throw invalid(name, `'${name}' must be 1: a run gives one answer`);
  }
  if ((fields.suffix ?? '') !== '') {
    throw invalid('suffix', "'suffix' is not supported: the agent answers a prompt and cannot fill a gap");
  }
  return {
    prompt,
    model: optionalString(fields, 'model') || undefined,
    stream: optionalFlag(fields, 'stream'),
    echo: optionalFlag(fields, 'echo'),
  };
}

function parsePrompt(given: unknown): string {
  const prompts = Array.isArray(given) ? given : [given];
  if (prompts.length > 1 && prompts.every((prompt) => typeof prompt === 'string')) {
    throw invalid('prompt', "'prompt' must be one text: send one request for each of several prompts");
  }
  const [prompt] = prompts;
  if (prompts.length === 1 && typeof prompt === 'string' && prompt.trim() !== '') return prompt;
  if (prompt === undefined || prompt === null || prompt === '') {
    throw new TalariaError('missing_input', { message: "Missing 'prompt' field", param: 'prompt' });
  }
  throw invalid('prompt', "'prompt' must be text; token arrays are not supported");
}

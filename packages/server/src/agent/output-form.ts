/** Answers with a requested format: what the model is told about the format, and whether its answer has it. */
import type { OutputForm } from '@talaria/protocol';

/** What is wrong with a value, in words for the model; undefined if it satisfies the schema. */
export type CheckValue = (schema: Record<string, unknown>, value: unknown) => Promise<string | undefined>;

export type ReadOutput = { text: string; value: unknown } | { problem: string };

/** Part of the instructions. */
export function describeForm({ schema, name, description }: OutputForm): string {
  const about = [
    name === undefined ? '' : ` It is called ${name}.`,
    description ? ` ${description}` : '',
  ].join('');
  const wanted =
    schema === undefined
      ? 'one JSON object'
      : `one JSON value that satisfies this schema: ${JSON.stringify(schema)}`;
  return `Your final answer must be ${wanted}\nWrite nothing before or after it, and no code fence.${about}`;
}

/** Reads an answer; removes a code fence around it. */
export async function readOutput(
  answer: string,
  { schema }: OutputForm,
  check: CheckValue,
): Promise<ReadOutput> {
  const text = withoutFence(answer.trim());
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { problem: `it is not JSON: ${(error as Error).message}` };
  }
  if (schema === undefined) {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? { text, value } : { problem: 'it is not a JSON object' };
  }
  const problems = await check(schema, value);
  return problems === undefined ? { text, value } : { problem: problems };
}

function withoutFence(text: string): string {
  return /^```[a-z]*\n([\s\S]*?)\n?```$/i.exec(text)?.[1]?.trim() ?? text;
}

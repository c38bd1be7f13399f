/** Examples in documents: each a whole program. Those of docs/client.md say what they print, behind `//=>`. */
import { readFileSync } from 'node:fs';

export interface Example {
  /** Its heading, and its number under that heading. */
  title: string;
  code: string;
  prints: string[];
  /** The part of the API that not every server has. */
  needs: string | undefined;
}

/** `path` is relative to the repository. */
export function readExamples(path: string): Example[] {
  const document = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  const examples: Example[] = [];
  let heading = '';
  let count = 0;
  for (const [, title, needs, code] of document.matchAll(
    /^#+ (.+)$|^(?:<!-- needs: (\w+) -->\n)?```ts\n([\s\S]*?)^```$/gm,
  )) {
    if (title !== undefined) {
      heading = title;
      count = 0;
      continue;
    }
    const prints = [...code!.matchAll(/\/\/=> (.*)$/gm)].map(([, text]) => text!);
    examples.push({ title: `${heading} (${++count})`, code: code!, prints, needs });
  }
  return examples;
}

/**
 * Examples of a document that are run unchanged: in blocks of `console`, a line with `$ ` is a command for bash and the
 * lines after it are its output. `…` stands for anything in a line, alone in a line for any number of lines.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { BIN } from './talaria.ts';

export interface Example {
  readonly command: string;
  readonly printed: readonly string[];
}

/** `name` is a path from the top of the repository. */
export function examplesIn(name: string): Example[] {
  const document = readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
  return [...document.matchAll(/^```console\n([\s\S]*?)^```$/gm)].flatMap(([, block]) => {
    const found: { command: string; printed: string[] }[] = [];
    for (const line of block!.trimEnd().split('\n')) {
      if (line.startsWith('$ ')) found.push({ command: line.slice(2), printed: [] });
      else found.at(-1)!.printed.push(line);
    }
    return found;
  });
}

/** The environment of a shell in which `talaria` is the command under test. */
export function shellEnvironment(directory: string, url: string): Record<string, string> {
  writeFileSync(join(directory, 'talaria'), `#!/bin/sh\nexec '${process.execPath}' '${BIN}' "$@"\n`);
  chmodSync(join(directory, 'talaria'), 0o755);
  return {
    PATH: `${directory}${delimiter}${process.env.PATH}`,
    HOME: directory,
    TALARIA_BASE_URL: url,
  };
}

/** What each of them prints, in order. One shell runs them all, so that variables last. */
export function runExamples(
  examples: readonly Example[],
  { cwd, env }: { cwd: string; env: Record<string, string> },
): string[] {
  // A mark after each command, which leaves $? unchanged.
  const marked = examples.map(({ command }) => `${command}\nstatus=$?; echo; echo @@mark; (exit $status)`);
  const words = ['-c', `exec 2>&1; ${marked.join('\n')}`];
  const { stdout } = spawnSync('bash', words, { cwd, env, encoding: 'utf8' });
  return stdout.split('\n@@mark\n');
}

export function patternOf({ printed }: Example): RegExp {
  const lines = printed.map((line) => (line === '…' ? '(?:.*\n)*?' : `${lineMatching(line)}\n`));
  return new RegExp(`^${lines.join('') || '\n'}$`);
}

/** Columns are as wide as their content. */
function lineMatching(line: string): string {
  const literal = (part: string) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/ {2,}/g, ' +');
  return line.split('…').map(literal).join('.*');
}

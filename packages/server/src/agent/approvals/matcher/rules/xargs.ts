/**
 * xargs and parallel: a command whose further words come from the input.
 */
import { ENV, HIDDEN, hasHole } from '../walk/marks.ts';
import type { Given } from './arguments.ts';
import type { Call } from './call.ts';
import { neverOnly } from './never.ts';

export function xargs({ host, input }: Call, { options, rest }: Given): string {
  const replaced = options.find(({ name }) => /^(?:-I|-i|--replace)$/.test(name));
  // With a placeholder each line is one item.
  const items = itemsOf(input?.text, replaced ? /\n/ : /[\s\0]+/);
  return runWith(rest?.words ?? [], items, replaced && (replaced.value || '{}'), host);
}

export function parallel({ host, input }: Call, { rest }: Given): string {
  const words = rest?.words ?? [];
  const at = words.findIndex((word) => /^:::/.test(word));
  const command = at < 0 ? words : words.slice(0, at);
  const items = at < 0 ? itemsOf(input?.text, /\n/) : words.slice(at + 1);
  const named = command.some(hasPlace);
  // Without a command the items are commands.
  if (command.length === 0) return bulk(host, () => host.code(items.join('\n'), 'argument'));
  // One word is a text for a shell.
  if (command.length <= 1 && (command[0] ?? '').includes(' ')) {
    return bulk(host, () => host.code(`${command[0]!.replaceAll('{}', items.join(' '))}`, 'argument'));
  }
  return runWith(command, items, named ? '{}' : undefined, host);
}

/** `{}`, `{.}`, `{/}` … */
function hasPlace(word: string): boolean {
  const open = word.indexOf('{');
  return open >= 0 && word.indexOf('}', open) > 0;
}

function runWith(
  command: string[],
  items: string[],
  replaced: string | undefined,
  host: Call['host'],
): string {
  const text = items.join('\n');
  const argv =
    replaced === undefined
      ? [...command, ...items]
      : command.map((word) => (word.includes(replaced) ? word.split(replaced).join(text) : word));
  for (const word of argv) host.scope.budget.charge(word.length);
  if (command.length === 0) return text;
  // Without a placeholder the items come last: the first of them would be code.
  if (replaced === undefined && /(?:^|\/)\w*sh$/.test(command[0]!) && command.at(-1) === '-c') {
    host.scope.report('text evaluated again');
    neverOnly(host, () => host.code(text, 'argument'));
  }
  // Which script a shell would read is in the input.
  const isShell = /(?:^|\/)(?:\w*[^s]sh|sh)$/.test(command[0]!);
  if (isShell && !command.includes('-c') && hasHole(text)) host.scope.report('text evaluated again');
  return bulk(host, () => host.run(argv));
}

function bulk(host: Call['host'], run: () => string): string {
  const before = host.scope.bulkDelete;
  host.scope.bulkDelete = 'xargs with rm';
  const output = run();
  host.scope.bulkDelete = before;
  return output;
}

function itemsOf(text: string | undefined, separator: RegExp): string[] {
  if (text === undefined || text.trim() === '') return [ENV];
  if (hasHole(text)) return [text.includes(HIDDEN) ? HIDDEN : text.trim()];
  return text.split(separator).filter((item) => item !== '');
}

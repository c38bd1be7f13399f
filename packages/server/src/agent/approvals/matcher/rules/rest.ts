/**
 * What the words after the operands of a program are: a command, a script, a text for a shell.
 */
import { isHole } from '../walk/marks.ts';
import type { Given } from './arguments.ts';
import type { Call } from './call.ts';
import { rowOf } from './rows.ts';
import { runScript, shellInput } from './shells.ts';
import { assignVariable } from './variables.ts';

const ASSIGNMENT = /^([A-Za-z_][\w().%-]*)=/;

export type Rest = (call: Call, words: string[], given: Given) => string;

export const REST: Record<string, Rest> = {
  cmd: ({ host, input }, words) => host.run(words, input),
  /** A program without a row counts as a tool of the workspace. */
  tool: ({ host, input }, words) => host.run(words, input, true),
  script: (call, [path = '', ...args]) => runScript(call, path, args),
  shell: ({ host, input }, words) => host.code(words.join(' '), 'argument', undefined, input),
  /** A host, then a command there. */
  remote: (call, [place = '', ...words]) => {
    const { host, input } = call;
    if (place.startsWith('-') || isHole(place)) host.scope.report('unknown option or argument');
    // Options may also come after the host.
    while (/^-[a-zA-Z0-9]/.test(words[0] ?? ''))
      words.splice(0, /^-[46AaCfGgKkMNnqsTtVvXxYy]+$/.test(words[0]!) ? 1 : 2);
    if (words[0] === '--') words.shift();
    if (words.length > 0) return host.code(words.join(' '), 'argument', undefined, input);
    return shellInput(call);
  },
  /** Assignments, then a command. */
  assigned: (call, words) => {
    let at = 0;
    for (; at < words.length; at++) {
      const word = words[at]!;
      const name = ASSIGNMENT.exec(word)?.[1];
      if (name !== undefined) assignVariable(name, word.slice(name.length + 1), call.host);
      else if (word !== '--') break;
    }
    return at < words.length ? call.host.run(words.slice(at), call.input) : '';
  },
  /** An image or a container, then a command in it. */
  target: ({ host, input }, words, { options }) => {
    const at = words[1] === '--' ? 2 : 1;
    const entry = options.find(({ name }) => name === '--entrypoint')?.value;
    const argv = [...(entry ? [entry] : []), ...words.slice(at)];
    return argv.length > 0 ? host.run(argv, input, true) : '';
  },
  /** The command is behind `--`, or after the name of a pod. */
  kexec: ({ host, input }, words) => {
    const at = words.indexOf('--');
    const argv = words.slice(at < 0 ? 1 : at + 1);
    return argv.length > 0 && !argv[0]!.startsWith('-') ? host.run(argv, input, true) : '';
  },
  /** The first word that is a program begins the command. */
  somewhere: (call, words) => {
    const { host, input } = call;
    const at = words.findIndex((word) => rowOf(word.slice(word.lastIndexOf('/') + 1)) !== undefined);
    const code = words.findIndex((word) => /^-\w*c$|^--command$/.test(word));
    if (code >= 0 && (at < 0 || code < at)) return host.code(words[code + 1] ?? '', 'argument');
    return at < 0 ? shellInput(call) : host.run(words.slice(at), input);
  },
  /** The command is behind `--`, or after a version. */
  'skip-to-cmd': ({ host, input }, words) => {
    const at = words.indexOf('--');
    if (at >= 0) return host.run(words.slice(at + 1), input, true);
    const versioned = rowOf(words[0] ?? '') === undefined;
    return host.run(versioned ? words.slice(1) : words, input, true);
  },
};

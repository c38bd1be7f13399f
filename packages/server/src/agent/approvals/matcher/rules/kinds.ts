/**
 * The kinds of arguments that the tables of programs name, and the check of each kind.
 */
import { basename } from 'node:path';
import { NEVER } from '../families.ts';
import { isHarmlessConfig, isProgramConfig } from '../programs/config-keys.ts';
import { HIDDEN, hasHole, REMOTE } from '../walk/marks.ts';
import type { Call } from './call.ts';
import { namesMetadata } from './metadata.ts';
import { findNever } from './never.ts';
import { deviceAt, isAbsolute, placeOf, systemPlaceOf, wipes } from './paths.ts';
import { isOutside, readPath, writePath } from './sensitive-paths.ts';
import { examineSql } from './sql.ts';
import { assignVariable, evaluate, isPlainProgram } from './variables.ts';

export type Kind = (value: string, call: Call) => void;

export const KINDS: Record<string, Kind> = {
  text: () => {},
  num: () => {},
  read: (value, { host }) => readPath(value, host),
  write: (value, { host }) => {
    // `host:/etc/…` does the same damage on the other machine.
    writePath(/^[^/:]+:(\/etc\/.*)$/s.exec(value)?.[1] ?? value, host);
  },
  /** A path, an address or a text: whatever it is, it is only read. */
  any: (value, call) => {
    readPath(value, call.host);
    KINDS.url!(value, call);
  },
  url: (value, { host }) => {
    if (namesMetadata(value)) host.scope.report('cloud metadata address');
    if (/^file:\/\//i.test(value)) readPath(value.slice(7), host);
    if (/^(?:gopher|dict|ldap|tftp):/i.test(value)) host.scope.report('unknown option or argument');
  },
  /** `@path` of curl, alone or after `name=`. */
  data: (value, { host }) => {
    const path = /(?:^|=)[@<](.*)$/s.exec(value)?.[1];
    if (path !== undefined) readPath(path, host);
  },
  /** Deleted by a program that may be recursive. */
  delete: (value, { host }) => {
    const { scope } = host;
    if (scope.bulkDelete) scope.report(scope.bulkDelete);
    const found = scope.bulkDelete !== undefined && hasHole(value);
    if (!found && (isAbsolute(value) || isOutside(value, scope.cwd))) scope.report('delete in root path');
    if (deviceAt(value, scope.cwd) === 'disk') scope.never = NEVER.disk;
  },
  /** Deleted with everything below it. */
  tree: (value, { host }) => {
    host.scope.report('recursive delete');
    if (wipes(value, host.scope.cwd)) host.scope.never = NEVER.wipe;
  },
  moved: (value, { host }) => {
    if (wipes(value, host.scope.cwd)) host.scope.never = NEVER.wipe;
    writePath(value, host);
  },
  /** A copy or link of a system program under a new name would run as an unknown program. */
  copied: (value, { host }) => {
    readPath(value, host);
    if (deviceAt(value, host.scope.cwd) === 'disk') host.scope.report('write to block device');
    if (/^(?:\/usr)?(?:\/local)?\/s?bin\/[^/]+$/.test(value) || PROGRAM_NAMES.has(value)) {
      host.scope.report('command hidden behind expansion');
    }
  },
  /** The name of a link. One to a system path is harmless until the command line writes through it. */
  link: (value, { args, host }) => {
    writePath(value, host);
    const target = args.find((arg) => arg !== value && isSystem(arg));
    if (target === undefined) return;
    const [name = basename(target)] = placeOf(value, host.scope.cwd).segments;
    host.scope.systemLinks.add(name);
  },
  /** Shell source: it is judged by the commands in it. */
  sh: (value, { host, input }) => {
    host.code(value, 'argument', undefined, input ?? UNKNOWN_INPUT);
  },
  /** `npm:name` of tools that run scripts, or shell source. */
  npmscript: (value, call) => {
    if (!/^(?:npm|pnpm|yarn|bun|node):[\w:*.-]+$/.test(value)) KINDS.sh!(value, call);
  },
  /** A program with its options that only connects, shows or edits. */
  transport: (value, { host }) => {
    if (!isPlainProgram(value, host)) host.scope.report('program or code as an argument');
  },
  /** Words that the shell expands once more. */
  expanded: (value, { host }) => {
    evaluate(value, host);
  },
  /** Shell source as the value of an option that is rarely needed. It always asks. */
  run: (value, { host }) => {
    host.code(value, 'argument', undefined, UNKNOWN_INPUT);
    host.scope.report('program or code as an argument');
  },
  code: (value, { host }) => {
    host.scope.report('interpreter with inline code');
    if (value.includes(REMOTE)) host.scope.report('execute remote script via substitution');
    findNever(value, host);
  },
  compressor: (value, call) => {
    if (
      !/^(?:p?gzip|pigz|gunzip|p?bzip2|lbzip2|pixz|xz|zstd\w*|lz4|lzop|lzma|brotli)(?: -[\w=-]+)*$/.test(
        value,
      )
    )
      KINDS.run!(value, call);
  },
  /** An action of tar, such as `exec=command`. */
  action: (value, call) => {
    if (!/^(?:dot|echo|bell|ttyout|sleep|totals)/.test(value)) KINDS.run!(value.replace(/^exec=/, ''), call);
  },
  sql: (value, { host }) => {
    host.scope.budget.charge(2 * value.length);
    const words = new Set(value.toLowerCase().match(/\w+/g));
    const escapes =
      /^\s*(?:\\!|\.(?:shell|system|sh)\b|system\s|\\[gow]?\s*\||\.(?:once|output|excel|import)\s+['"]?\|)/i;
    if (escapes.test(value)) host.code(value.replace(/^\s*\S+\s*/, ''), 'argument');
    if (escapes.test(value) || SQL_OUTSIDE.some((needed) => needed.every((word) => words.has(word))))
      host.scope.report('program or code as an argument');
    examineSql(value, host.scope);
  },
  /** A device or an image: what the program does to it is in its row. */
  device: () => {},
  mode: (value, { host }) => {
    if (isWorldWritable(value)) host.scope.report('world/other-writable permissions');
    // It would run as its owner, whoever starts it.
    if (/^0?[2-7][0-7]{3}$|^[ugoa]*[+=][rwxXt]*s/.test(value))
      host.scope.report('unknown option or argument');
  },
  owner: (value, { host, args }) => {
    const recursive = args.some((arg) => /^-[a-zA-Z]*R|^--recursive$/.test(arg));
    if (recursive && /^(?:root|0)?(?::(?:root|0)?)?$/.test(value))
      host.scope.report('recursive chown to root');
  },
  /** A module of node: a file or a package, no code in an address. */
  module: (value, { host }) => {
    if (!/^[\w@./\uE000-]+$/.test(value)) host.scope.report('interpreter with inline code');
  },
  /** `key=value` of `git -c`. */
  config: (value, { host }) => {
    const [key = '', ...rest] = value.split('=');
    configure(key, rest.join('='), host);
  },
  sshopt: (value, { host }) => {
    const [, key = '', setting = ''] = /^\s*([^\s=]*)[\s=]*(.*)$/s.exec(value) ?? [];
    if (/^(?:proxycommand|localcommand|knownhostscommand|remotecommand)$/i.test(key)) {
      host.code(setting, 'argument');
      host.scope.report('program or code as an argument');
    } else if (
      /^(?:permitlocalcommand|match|include|pkcs11provider|securitykeyprovider|xauthlocation|proxyusefdpass|)$/i.test(
        key,
      ) ||
      hasHole(key)
    ) {
      host.scope.report('program or code as an argument');
    }
  },
  /** `source:target` of a container: what it may reach of the host. */
  mount: (value, { host }) => {
    const source = /(?:source|src)=([^,]*)/.exec(value)?.[1] ?? value.split(':')[0] ?? '';
    if (
      /^(?:\/|\/(?:etc|root|home|boot|dev|sys|proc|usr|var|bin|sbin|lib)\/?|.*docker\.sock)$/.test(source)
    ) {
      host.scope.report('unknown option or argument');
    }
    readPath(source, host);
  },
  /** The value of an option like `-o` of strace: a file to write, or `|command`. */
  pipe: (value, call) => {
    if (/^[|!]/.test(value)) KINDS.run!(value.slice(1), call);
    else writePath(value, call.host);
  },
  variable: (value, { host }) => {
    const equals = value.indexOf('=');
    if (equals > 0) assignVariable(value.slice(0, equals), value.slice(equals + 1), host);
  },
  /** A settings file, which may name programs. One in the workspace is trusted like the scripts there. */
  conf: (value, { host }) => {
    if (/^(?:-|\/dev\/|\/proc\/)/.test(value) || host.read(value) !== undefined)
      host.scope.report('program or code as an argument');
  },
  /**
   * `ext::command` is a transport that runs something, with `% ` for a blank inside a word; behind `--` a word that looks
   * like an option still is one.
   */
  gitremote: (value, call) => {
    if (/^(?:\w+::|-)/.test(value)) call.host.scope.report('program or code as an argument');
    const command = /^ext::(.*)$/s.exec(value)?.[1];
    if (command) call.host.run(command.split(/(?<!%) +/).map((word) => word.replaceAll('% ', ' ')));
    KINDS.any!(value, call);
  },
  refspec: (value, { host }) => {
    if (value.startsWith('+')) host.scope.report('git force push (rewrites remote history)');
  },
  method: (value, { host }) => {
    if (/^delete$/i.test(value)) host.scope.report('delete of shared resources');
  },
  signal: (value, { host }) => {
    if (/^(?:stop|quit|restart|graceful-stop)$/.test(value)) host.scope.report('stop/restart system service');
  },
  socat: (value, { host }) => {
    if (/^(?:exec|system|shell)\b/i.test(value)) host.scope.report('pipe remote content to shell');
    if (/listen|^(?:open|create|gopen)\b/i.test(value)) host.scope.report('network connection by the shell');
  },
  /** Settings that may name a program among many that do not. */
  phpini: asksFor(/^(?:auto_(?:prepend|append)|(?:zend_)?extension|disable_)/i),
  aptopt: asksFor(
    /invoke|command|::run|dir::|proxy-auto|dpkg::(?:pre|post|tools)|acquire::.*::(?:dl|program)/i,
  ),
  ldflags: asksFor(/extld|plugin|-X\s*main.*sh\b/),
  linkopt: asksFor(/linker|link-arg|plugin|^-load$/),
  mountopt: asksFor(/bind|exec|command/),
  nshost: asksFor(/^host$/),
  /** The program that a container starts instead of its own; rest.ts judges it. */
  entrypoint: () => {},
  pymodule: () => {},
  split: () => {},
  /** Asks whatever it is. */
  ask: (_, { host }) => host.scope.report('unknown option or argument'),
};

/** The root, or something of its configuration. */
function isSystem(path: string): boolean {
  const { base, segments } = systemPlaceOf(path, undefined);
  return base === '/' && (segments.length === 0 || segments[0] === 'etc');
}

function asksFor(pattern: RegExp): Kind {
  return (value, { host }) => {
    if (pattern.test(value)) host.scope.report('program or code as an argument');
  };
}

const UNKNOWN_INPUT = { text: HIDDEN, via: 'pipe' } as const;

/** Words that together let a statement run a program or write a file. */
const SQL_OUTSIDE = [
  ['copy', 'program'],
  ['into', 'outfile'],
  ['into', 'dumpfile'],
  ['load_extension'],
  ['writefile'],
  ['edit'],
  ['sys_exec'],
  ['xp_cmdshell'],
];

/** Programs by their bare names, because `$(which rm)` counts as `rm` here (`../walk/output.ts`). */
const PROGRAM_NAMES = new Set('rm sh bash dash dd shred find busybox perl python3 env'.split(' '));

export function configure(key: string, value: string, host: Call['host']): void {
  if (value.startsWith('!')) {
    host.code(value.slice(1), 'argument');
    host.scope.report('program or code as an argument');
  } else if (isProgramConfig(key)) {
    if (!isPlainProgram(value, host)) host.scope.report('program or code as an argument');
  } else if (!isHarmlessConfig(key)) {
    host.scope.report('program or code as an argument');
  }
}

function isWorldWritable(mode: string): boolean {
  if (/^[0-7]{3,4}$/.test(mode)) return /[2367]$/.test(mode);
  return /(?:^|,)[ugo]*[oa][ugoa]*[+=][rwxXst]*w|(?:^|,)\+[rwxXst]*w/.test(mode) && !/^\+w$/.test(mode);
}

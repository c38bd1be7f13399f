/**
 * The reasons for which a command asks (PROTOCOL.md) or never runs.
 * A family's text is what clients show and what an `always` grant stores, so renaming one silently revokes grants that
 * people have given. The order is the order of `keys` in a verdict: the loss that is hardest to undo comes first.
 */

/** What a command would do. */
export const DANGERS = [
  'delete in root path',
  'recursive delete',
  'find -delete',
  'find -exec rm',
  'xargs with rm',
  'format filesystem',
  'write to block device',
  'disk copy',
  'SQL DROP',
  'SQL TRUNCATE',
  'SQL DELETE without WHERE',
  'pipe remote content to shell',
  'execute remote script via substitution',
  'pipe decoded content to shell',
  'overwrite system config',
  'credential or SSH path',
  'shell startup file',
  'cloud metadata address',
  'kill all processes',
  'force kill processes',
  'stop/restart system service',
  'world/other-writable permissions',
  'recursive chown to root',
  'git force push (rewrites remote history)',
  'git reset --hard (destroys uncommitted changes)',
  'git clean with force (deletes untracked files)',
  'git branch force delete',
  'docker stop/kill/compose down',
  'delete of shared resources',
  'sudo with stdin, askpass or shell flag',
  'package uninstall',
] as const;

/** Why the matcher cannot tell what a command would do. */
const UNKNOWNS = [
  'interpreter with inline code',
  'program or code as an argument',
  'variable that changes what runs',
  'text evaluated again',
  'network connection by the shell',
  'write outside the workspace',
  'heredoc to a shell',
  'script piped to a shell',
  'command hidden behind expansion',
  'unknown program',
  'unknown option or argument',
  'unparsable command',
  'command too complex to inspect',
] as const;

export const FAMILIES = [...DANGERS, ...UNKNOWNS] as const;

export type Family = (typeof FAMILIES)[number];

export const NEVER = {
  wipe: 'deletes the root, a system directory or a home directory',
  disk: 'formats or overwrites a block device',
  bomb: 'fork bomb',
  power: 'shuts down or restarts the machine',
} as const;

export type NeverReason = (typeof NEVER)[keyof typeof NEVER];

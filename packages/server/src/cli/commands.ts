/**
 * Every command: one table for parsing, help, completion and the types of a command's arguments. It imports nothing
 * that the commands do, so that help and mistakes are answered at once.
 */
import type { ArgumentsOf, CommandSpec } from './command-spec.ts';
import { fileCommands } from './commands/files.ts';
import { followingCommands } from './commands/following.ts';
import { jobCommands } from './commands/jobs.ts';
import { runCommands } from './commands/runs.ts';
import { serverCommands } from './commands/server.ts';
import { workspaceCommands } from './commands/workspaces.ts';

const { serve, ...onThisMachine } = serverCommands;

/** In the order of help. */
export const commands = {
  serve,
  ...followingCommands,
  ...runCommands,
  ...workspaceCommands,
  ...fileCommands,
  ...jobCommands,
  ...onThisMachine,
};

export type CommandKey = keyof typeof commands;
export type Arguments<Key extends CommandKey> = ArgumentsOf<(typeof commands)[Key]>;

/** The heading of a group's commands in help. */
export const groups: Readonly<Record<string, string>> = {
  artifacts: "files of a run's workspace",
  files: 'files that the server keeps',
  grants: 'what answers allow for longer than one call',
  jobs: 'runs on a schedule',
};

/** The table for code that treats all commands alike. */
export const commandList = Object.entries(commands) as readonly (readonly [CommandKey, CommandSpec])[];

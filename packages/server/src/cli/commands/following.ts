/** Commands that start a run or come back to one, and follow it. */
import { defineCommand } from '../command-spec.ts';
import { jsonLines, run, seq, server, verbose } from './shared.ts';

/** The flags of the commands that start a run and follow it. */
const following = {
  detach: { type: 'flag', short: 'd', about: 'print the id of the run and do not watch it' },
  quiet: { type: 'flag', short: 'q', about: 'print the answer and nothing else' },
  verbose,
  'idempotency-key': {
    type: 'text',
    value: 'key',
    about: 'the same key and prompt never start a second run: safe to repeat',
  },
  json: jsonLines,
  server,
} as const;

export const followingCommands = {
  run: defineCommand({
    name: 'run',
    about: 'start a run and watch it',
    details:
      'After Ctrl-C the run continues; a second Ctrl-C stops it. Dangerous commands ask on the spot. Where the ' +
      'output is no terminal, the answer goes to it and everything else to stderr.',
    positionals: [{ name: 'prompt', about: 'what to do; - reads it from stdin' }],
    options: {
      session: {
        type: 'text',
        short: 's',
        value: 'id',
        about: 'continue this session: its runs so far are the context',
        completes: 'session',
      },
      instructions: {
        type: 'text',
        short: 'i',
        value: 'text',
        about: "added to the agent's own instructions",
      },
      dir: {
        type: 'text',
        value: 'directory',
        about: 'begin with the files of this directory, without what .gitignore names and without .git',
        completes: 'file',
      },
      'with-git': { type: 'flag', about: 'with --dir: bring its repository (.git) along, too' },
      'ask-above': {
        type: 'integer',
        value: 'MB',
        min: 0,
        max: 1_000_000,
        about: 'with --dir: ask before more than this is uploaded; default 100',
      },
      mount: {
        type: 'text',
        value: 'directory',
        about: 'work in this directory itself, where the server is on this machine and allows it',
        completes: 'file',
      },
      yes: { type: 'flag', short: 'y', about: 'with --dir: do not ask, however large it is' },
      ...following,
    },
    examples: [
      { line: "talaria run 'Run `uname -a` and tell me what it says'", about: 'watch it work' },
      {
        line: "talaria run --dir . 'Make the tests pass'",
        about: 'on a copy of this directory; then: talaria diff, talaria apply',
      },
      {
        line: "talaria run --mount . 'Make the tests pass'",
        about: 'in this directory itself, if the server allows it',
      },
      { line: 'git diff | talaria run -', about: 'the prompt from a pipe' },
      { line: "talaria run -d -s nightly 'Tidy up the workspace'", about: 'start it and return at once' },
    ],
  }),
  fork: defineCommand({
    name: 'fork',
    about: 'start a run that continues from an event of another one, and watch it',
    details:
      'The conversation is that of the other run up to the event, without a step whose calls were open. Without a ' +
      'prompt the model is asked again; after an answer a prompt is needed. The other run stays as it is.',
    positionals: [
      run,
      { name: 'prompt', optional: true, about: 'what to tell the model next; - reads it from stdin' },
    ],
    options: {
      at: {
        type: 'integer',
        value: 'seq',
        min: 0,
        max: Number.MAX_SAFE_INTEGER,
        about: 'go back to the event with this number; default the last',
      },
      instructions: { type: 'text', short: 'i', value: 'text', about: 'in place of those of the run' },
      ...following,
    },
    examples: [
      { line: 'talaria fork run_0193c7e8a1b2', about: 'try again from before it broke' },
      { line: "talaria fork run_0193c7e8a1b2 --at 42 'Use pnpm this time'", about: 'another way from there' },
    ],
  }),
  watch: defineCommand({
    name: 'watch',
    about: 'watch a run from its first event on, and answer its approvals',
    details: 'Like `run`, for a run that exists already. A finished run is shown as it was.',
    positionals: [run],
    options: {
      after: { ...seq, about: 'begin after the event with this number' },
      verbose,
      json: jsonLines,
      server,
    },
    examples: [{ line: 'talaria watch run_0193c7e8a1b2', about: 'come back to a run' }],
  }),
};

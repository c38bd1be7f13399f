/** Commands about runs: what they are, what they ask, and what they are told. */
import { defineCommand } from '../command-spec.ts';
import { json, run, server } from './shared.ts';

const APPROVAL_CHOICES = ['once', 'session', 'always', 'deny'] as const;

export const runCommands = {
  runs: defineCommand({
    name: 'runs',
    aliases: ['ps'],
    about: 'list runs, newest first',
    positionals: [],
    options: {
      status: {
        type: 'text',
        value: 'status',
        about: 'only runs of this status',
        choices: [
          'started',
          'running',
          'waiting_for_approval',
          'waiting_for_tool',
          'stopping',
          'completed',
          'failed',
          'cancelled',
        ],
      },
      session: {
        type: 'text',
        short: 's',
        value: 'id',
        about: 'only runs of this session',
        completes: 'session',
      },
      job: { type: 'text', value: 'id', about: 'only runs of this job' },
      search: {
        type: 'text',
        value: 'words',
        about: 'only runs with these words in the prompt or the answer',
      },
      limit: {
        type: 'integer',
        short: 'n',
        value: 'count',
        min: 1,
        max: 100_000,
        about: 'how many; default 20',
      },
      all: { type: 'flag', short: 'a', about: 'all that are kept' },
      watch: { type: 'flag', short: 'w', about: 'keep showing them as they change' },
      quiet: { type: 'flag', short: 'q', about: 'print ids only' },
      json,
      server,
    },
    examples: [
      { line: 'talaria runs', about: 'the latest' },
      { line: 'talaria runs --watch', about: 'the latest, as they change' },
      { line: 'talaria runs --status waiting_for_approval', about: 'those that need you' },
      { line: 'talaria stop $(talaria runs -q --status running)', about: 'stop everything that runs' },
    ],
  }),
  show: defineCommand({
    name: 'show',
    about: 'show a run: its state, what it asks or waits for, its answer',
    positionals: [run],
    options: { json, server },
    examples: [
      { line: 'talaria show run_0193c7e8a1b2', about: 'by the beginning of its id' },
      { line: 'talaria show --json run_0193c7e8a1b2 | jq -r .output', about: 'just the answer' },
    ],
  }),
  approve: defineCommand({
    name: 'approve',
    about: 'answer what a run asks',
    details: 'Without an answer it shows the command and asks.',
    positionals: [
      run,
      {
        name: 'choice',
        optional: true,
        choices: APPROVAL_CHOICES,
        about: 'this time, for the session, for good, or no',
      },
    ],
    options: {
      request: { type: 'text', value: 'id', about: 'only this question, by its request_id' },
      all: { type: 'flag', about: 'the same answer for what waits behind it' },
      message: { type: 'text', value: 'text', about: 'with deny: why, for the model' },
      json,
      server,
    },
    examples: [
      { line: 'talaria approve run_0193c7e8a1b2', about: 'see the command, then decide' },
      { line: 'talaria approve run_0193c7e8a1b2 once', about: 'allow it this time' },
      { line: 'talaria approve run_0193c7e8a1b2 deny', about: 'refuse it; the run continues without' },
      {
        line: "talaria approve run_0193c7e8a1b2 deny --message 'keep the build'",
        about: 'and tell the model why',
      },
    ],
  }),
  approvals: defineCommand({
    name: 'approvals',
    about: 'list what waits for an answer, over all runs',
    positionals: [],
    options: {
      answered: { type: 'flag', about: 'list the answered questions instead: by whom and how' },
      limit: {
        type: 'integer',
        short: 'n',
        value: 'count',
        min: 1,
        max: 1_000_000,
        about: 'how many at most',
      },
      json,
      server,
    },
    examples: [
      { line: 'talaria approvals', about: 'then: talaria approve <run>' },
      { line: 'talaria approvals --answered', about: 'the last decisions' },
    ],
  }),
  grantsList: defineCommand({
    name: 'grants list',
    aliases: ['ls'],
    about: 'list what answers allow for a session or for good',
    positionals: [],
    options: { quiet: { type: 'flag', short: 'q', about: 'print ids only' }, json, server },
    examples: [{ line: 'talaria grants ls', about: 'newest first' }],
  }),
  grantsRevoke: defineCommand({
    name: 'grants revoke',
    aliases: ['rm'],
    about: 'take a grant back; the next such command asks again',
    positionals: [{ name: 'grant', about: 'id of a grant; its beginning is enough' }],
    options: { json, server },
    examples: [{ line: 'talaria grants revoke grt_4f2a', about: 'by the beginning of its id' }],
  }),
  answer: defineCommand({
    name: 'answer',
    about: "give the output of a tool that a run's client has to run",
    details:
      'For a run that is waiting_for_tool, in place of its client. Without --output it shows the call and reads the ' +
      'output from the terminal.',
    positionals: [
      run,
      {
        name: 'call',
        optional: true,
        about: 'id of a call, or its beginning; needed where the run waits for several',
        completes: 'call',
      },
    ],
    options: {
      output: {
        type: 'text',
        short: 'o',
        value: 'text',
        about: 'what the model is given; - reads it from stdin',
      },
      error: { type: 'flag', short: 'e', about: 'the tool failed; the output says why' },
      json,
      server,
    },
    examples: [
      { line: "talaria answer run_0193c7e8a1b2 --output '3 cm of snow'", about: 'as its tool would' },
      { line: 'cat weather.txt | talaria answer run_0193c7e8a1b2 -o -', about: 'from a pipe' },
      { line: "talaria answer run_0193c7e8a1b2 -e -o 'no such city'", about: 'a failure; the run continues' },
    ],
  }),
  stop: defineCommand({
    name: 'stop',
    about: 'stop runs, and wait until they have stopped',
    positionals: [{ ...run, many: true }],
    options: { json, server },
    examples: [{ line: 'talaria stop run_0193c7e8a1b2', about: 'its commands are ended too' }],
  }),
  keep: defineCommand({
    name: 'keep',
    about: 'keep runs with their files, until that is taken back',
    details: 'The server deletes other runs some time after their ends; talaria show says when.',
    positionals: [{ ...run, many: true }],
    options: {
      undo: { type: 'flag', about: 'take that back; a finished run has at least a day left then' },
      json,
      server,
    },
    examples: [
      { line: 'talaria keep run_0193c7e8a1b2', about: 'whatever becomes of the others' },
      { line: 'talaria keep --undo run_0193c7e8a1b2', about: 'it goes when its time is over' },
    ],
  }),
  steer: defineCommand({
    name: 'steer',
    about: 'tell a running run something; the model reads it before its next step',
    positionals: [run, { name: 'text', about: 'what to tell it; - reads it from stdin' }],
    options: { json, server },
    examples: [
      { line: "talaria steer run_0193c7e8a1b2 'Leave the tests alone'", about: 'change its course' },
    ],
  }),
};

/**
 * Every command: one table for parsing, help, completion and the types of a command's arguments. It imports nothing
 * that the commands do, so that help and mistakes are answered at once.
 */
import { type ArgumentsOf, type CommandSpec, defineCommand } from './command-spec.ts';

const server = {
  type: 'text',
  value: 'url',
  about: 'where the server is [TALARIA_BASE_URL; default http://127.0.0.1:8642]',
} as const;

const json = { type: 'flag', about: 'print JSON, for programs' } as const;
const jsonLines = { type: 'flag', about: 'print each event as a line of JSON, for programs' } as const;
const verbose = {
  type: 'flag',
  short: 'v',
  about: 'show what every tool answered and what every step took',
} as const;

/** Of the commands that start a run and follow it. */
const following = {
  detach: { type: 'flag', short: 'd', about: 'print the id of the run and leave it to itself' },
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

const run = {
  name: 'run',
  about: 'id of a run; its beginning is enough where no other run begins so',
  completes: 'run',
} as const;

const seq = { type: 'integer', value: 'seq', min: 0, max: Number.MAX_SAFE_INTEGER } as const;

const job = { name: 'job', about: 'id of a job; its beginning is enough', completes: 'job' } as const;

const file = {
  name: 'file',
  about: 'id of an uploaded file; its beginning is enough',
  completes: 'upload',
} as const;

const APPROVAL_CHOICES = ['once', 'session', 'always', 'deny'] as const;
const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const commands = {
  serve: defineCommand({
    name: 'serve',
    about: 'start the server',
    details: 'A flag wins over the environment, which wins over the file.',
    positionals: [],
    options: {},
    takesSettings: true,
    examples: [
      { line: 'talaria serve', about: 'on its defaults, with a demo model' },
      { line: 'talaria serve --port 8700 --model anthropic/claude-sonnet-5', about: 'with settings' },
    ],
  }),
  run: defineCommand({
    name: 'run',
    about: 'start a run and watch it',
    details:
      'Ctrl-C leaves the run to itself; a second Ctrl-C stops it. Dangerous commands ask on the spot. Where the ' +
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
      yes: { type: 'flag', short: 'y', about: 'with --dir: do not ask, however large it is' },
      ...following,
    },
    examples: [
      { line: "talaria run 'Run `uname -a` and tell me what it says'", about: 'watch it work' },
      {
        line: "talaria run --dir . 'Make the tests pass'",
        about: 'on a copy of this directory; then: talaria diff, talaria apply',
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
    details: 'As `run` does, for a run that is there already. A finished run is shown as it was.',
    positionals: [run],
    options: {
      after: { ...seq, about: 'begin after the event with this number' },
      verbose,
      json: jsonLines,
      server,
    },
    examples: [{ line: 'talaria watch run_0193c7e8a1b2', about: 'come back to a run' }],
  }),
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
      answered: { type: 'flag', about: 'what was answered instead: by whom and how' },
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
  ui: defineCommand({
    name: 'ui',
    about: "open the server's web page",
    details:
      'Signs in with the key of the environment. Where there is no browser it prints the address, which contains the ' +
      'key: keep it to yourself.',
    positionals: [],
    options: { print: { type: 'flag', short: 'p', about: 'print the address and open nothing' }, server },
    examples: [
      { line: 'talaria ui', about: 'on the machine of the server' },
      { line: 'talaria ui -p --server https://agents.example.com', about: 'for another browser' },
    ],
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
  steer: defineCommand({
    name: 'steer',
    about: 'tell a running run something; the model reads it before its next step',
    positionals: [run, { name: 'text', about: 'what to tell it; - reads it from stdin' }],
    options: { json, server },
    examples: [
      { line: "talaria steer run_0193c7e8a1b2 'Leave the tests alone'", about: 'change its course' },
    ],
  }),
  diff: defineCommand({
    name: 'diff',
    about: 'show what a run changed in its files',
    details:
      'As a unified diff, from the start of the run to now. Paths are those of the workspace, as a list shows them.',
    positionals: [
      run,
      { name: 'path', optional: true, many: true, about: 'only these files and directories' },
    ],
    options: {
      from: { ...seq, about: 'compare with the files as they were after this event' },
      to: { ...seq, about: 'and not with those of now, but as they were after this event' },
      stat: { type: 'flag', about: 'list the changed files, and how many lines of each' },
      json,
      server,
    },
    examples: [
      { line: 'talaria diff run_0193c7e8a1b2', about: 'everything it changed' },
      { line: 'talaria diff run_0193c7e8a1b2 --stat src', about: 'the changed files in a directory' },
      { line: 'talaria diff run_0193c7e8a1b2 | git apply -3', about: 'take it with git' },
    ],
  }),
  apply: defineCommand({
    name: 'apply',
    about: 'take what a run changed into a directory',
    details:
      'Compares three states of each file that the run changed: as the run began with it, as the run left it, and as it ' +
      'is here. A file that was changed here, too, is a conflict, and nothing is applied. Doing it again does no harm. ' +
      'Links are not followed, and nothing is written into .git.',
    positionals: [run],
    options: {
      dir: {
        type: 'text',
        value: 'directory',
        about: 'where to; default this directory',
        completes: 'file',
      },
      'dry-run': { type: 'flag', short: 'n', about: 'only say what would be done' },
      'keep-mine': {
        type: 'flag',
        about: 'leave files that were changed here as they are, and take the rest',
      },
      json,
      server,
    },
    examples: [
      { line: 'talaria apply run_0193c7e8a1b2 --dry-run', about: 'see what would happen' },
      { line: 'talaria apply run_0193c7e8a1b2', about: 'take it into this directory' },
    ],
  }),
  cp: defineCommand({
    name: 'cp',
    about: 'copy files and directories from or to the workspace of a run',
    details:
      'One side is a path of this machine, the other <run>:<path>. Nothing is replaced without --force. A directory from ' +
      'a run arrives as a whole, without its links and without .git. Of a directory from here, the files go one after ' +
      'the other, without what .gitignore names, without .git and without links.',
    positionals: [
      { name: 'from', about: 'what to copy: a path, or <run>:<path>', completes: 'file' },
      { name: 'to', about: 'where to; into a directory that exists, under its own name', completes: 'file' },
    ],
    options: { force: { type: 'flag', short: 'f', about: 'replace what is there' }, json, server },
    examples: [
      { line: 'talaria cp run_0193c7e8a1b2:out/report.pdf .', about: 'to ./report.pdf' },
      { line: 'talaria cp run_0193c7e8a1b2:. result', about: 'the whole workspace' },
      { line: 'talaria cp data.csv run_0193c7e8a1b2:data/', about: 'also while the run works' },
    ],
  }),
  artifactsLs: defineCommand({
    name: 'artifacts ls',
    aliases: ['list'],
    about: "list the files of a run's workspace",
    positionals: [run, { name: 'path', optional: true, about: 'a directory or file; default the workspace' }],
    options: {
      recursive: { type: 'flag', short: 'r', about: 'what is in the directories, too' },
      quiet: { type: 'flag', short: 'q', about: 'print paths only' },
      json,
      server,
    },
    examples: [{ line: 'talaria artifacts ls -r run_0193c7e8a1b2', about: 'everything it left' }],
  }),
  artifactsCat: defineCommand({
    name: 'artifacts cat',
    about: "print a file of a run's workspace",
    details: 'Byte for byte into a file or pipe; on a terminal, control characters are made visible.',
    positionals: [run, { name: 'path', about: 'a file of the workspace' }],
    options: { server },
    examples: [{ line: 'talaria artifacts cat run_0193c7e8a1b2 report.md', about: 'read it here' }],
  }),
  artifactsGet: defineCommand({
    name: 'artifacts get',
    about: "download a file, or a directory as an archive, from a run's workspace",
    details:
      'An interrupted download continues where it was, also when the command is run again. Nothing is overwritten ' +
      'without --force.',
    positionals: [
      run,
      { name: 'path', optional: true, about: 'a file or directory; default the whole workspace' },
    ],
    options: {
      output: {
        type: 'text',
        short: 'o',
        value: 'file',
        about: 'where to; default its name in this directory; - is stdout',
        completes: 'file',
      },
      format: {
        type: 'text',
        value: 'format',
        choices: ['tar.gz', 'tar', 'zip'],
        about: 'of the archive of a directory: tar.gz (default), tar or zip',
      },
      force: { type: 'flag', short: 'f', about: 'replace what is there' },
      json,
      server,
    },
    examples: [
      { line: 'talaria artifacts get run_0193c7e8a1b2 out/report.pdf', about: 'to ./report.pdf' },
      { line: 'talaria artifacts get run_0193c7e8a1b2 -o - | tar xz', about: 'the workspace, unpacked here' },
    ],
  }),
  filesPut: defineCommand({
    name: 'files put',
    about: 'upload files',
    details: 'A file is there as a whole or not at all, and stays until it is deleted.',
    positionals: [
      { name: 'path', many: true, completes: 'file', about: 'a file of this machine; - is stdin' },
    ],
    options: {
      name: { type: 'text', short: 'n', value: 'name', about: 'under this name; needed for stdin' },
      purpose: { type: 'text', value: 'word', about: 'shown with the file; default user_data' },
      quiet: { type: 'flag', short: 'q', about: 'print ids only' },
      json,
      server,
    },
    examples: [
      { line: 'talaria files put data.csv', about: 'prints its id' },
      { line: 'git archive HEAD | talaria files put - --name project.tar', about: 'from a pipe' },
    ],
  }),
  filesLs: defineCommand({
    name: 'files ls',
    aliases: ['list'],
    about: 'list uploaded files, newest first',
    positionals: [],
    options: {
      purpose: { type: 'text', value: 'word', about: 'only files of this purpose' },
      limit: {
        type: 'integer',
        short: 'n',
        value: 'count',
        min: 1,
        max: 1_000_000,
        about: 'how many at most',
      },
      quiet: { type: 'flag', short: 'q', about: 'print ids only' },
      json,
      server,
    },
    examples: [{ line: 'talaria files ls', about: 'all of them' }],
  }),
  filesGet: defineCommand({
    name: 'files get',
    about: 'download an uploaded file',
    details:
      'An interrupted download continues where it was, also when the command is run again. Nothing is overwritten ' +
      'without --force.',
    positionals: [file],
    options: {
      output: {
        type: 'text',
        short: 'o',
        value: 'file',
        about: 'where to; default its name in this directory; - is stdout',
        completes: 'file',
      },
      force: { type: 'flag', short: 'f', about: 'replace what is there' },
      json,
      server,
    },
    examples: [{ line: 'talaria files get file-0193c7e8a1b2 -o - | tar x', about: 'unpacked here' }],
  }),
  filesRm: defineCommand({
    name: 'files rm',
    aliases: ['delete'],
    about: 'delete uploaded files; runs that were given them keep them',
    positionals: [{ ...file, many: true }],
    options: { json, server },
    examples: [
      { line: 'talaria files rm file-0193c7e8a1b2', about: 'by the beginning of its id' },
      { line: 'talaria files rm $(talaria files ls -q)', about: 'all of them' },
    ],
  }),
  jobsList: defineCommand({
    name: 'jobs list',
    aliases: ['ls'],
    about: 'list scheduled runs',
    positionals: [],
    options: {
      all: { type: 'flag', short: 'a', about: 'paused ones, too' },
      quiet: { type: 'flag', short: 'q', about: 'print ids only' },
      json,
      server,
    },
    examples: [{ line: 'talaria jobs list -a', about: 'all of them' }],
  }),
  jobsShow: defineCommand({
    name: 'jobs show',
    about: 'show a job',
    positionals: [job],
    options: { json, server },
    examples: [{ line: 'talaria jobs show 4f2a', about: 'by the beginning of its id' }],
  }),
  jobsCreate: defineCommand({
    name: 'jobs create',
    about: 'schedule runs',
    positionals: [
      { name: 'name', about: 'what to call it' },
      { name: 'prompt', about: 'what to do; - reads it from stdin' },
    ],
    options: {
      schedule: {
        type: 'text',
        value: 'when',
        about: '"30m" or a time (once), "every 30m", or the five fields of cron',
      },
      repeat: {
        type: 'integer',
        value: 'times',
        min: 1,
        max: 1_000_000_000,
        about: 'how often; default for ever',
      },
      timezone: {
        type: 'text',
        value: 'zone',
        about: "such as Europe/Berlin; default the server's",
      },
      json,
      server,
    },
    examples: [
      {
        line: "talaria jobs create logs 'Look through the logs' --schedule '0 6 * * *'",
        about: 'every morning at six',
      },
    ],
  }),
  jobsPause: defineCommand({
    name: 'jobs pause',
    about: 'stop starting runs of a job, until it is resumed',
    positionals: [job],
    options: { reason: { type: 'text', value: 'text', about: 'shown with the job' }, json, server },
    examples: [{ line: 'talaria jobs pause 4f2a', about: 'it keeps its schedule' }],
  }),
  jobsResume: defineCommand({
    name: 'jobs resume',
    about: 'resume a paused job',
    positionals: [job],
    options: { json, server },
    examples: [{ line: 'talaria jobs resume 4f2a', about: 'from now on' }],
  }),
  jobsRun: defineCommand({
    name: 'jobs run',
    about: 'run a job now, beside its schedule',
    positionals: [job],
    options: { json, server },
    examples: [{ line: 'talaria jobs run 4f2a', about: 'once, at once' }],
  }),
  jobsDelete: defineCommand({
    name: 'jobs delete',
    aliases: ['rm'],
    about: 'delete a job',
    positionals: [job],
    options: { json, server },
    examples: [{ line: 'talaria jobs delete 4f2a', about: 'its runs stay' }],
  }),
  doctor: defineCommand({
    name: 'doctor',
    about: 'check everything a server needs here, and say how to fix it',
    details:
      'Takes the settings the server would get. Sends one short request to the model and connects to the MCP servers.',
    positionals: [],
    options: { json },
    takesSettings: true,
    examples: [{ line: 'talaria doctor', about: 'before the first start, or when something is odd' }],
  }),
  migrateStore: defineCommand({
    name: 'migrate-store',
    about: 'move everything a server has stored, from SQLite to Postgres or back',
    details:
      'Servers have to be stopped. The source stays as it is; the target has to be empty, and is compared with it in ' +
      'the end. Interrupted in any way, the same command continues where it was. A password is better kept in ' +
      'PGPASSWORD or ~/.pgpass: others could read it in the list of processes.',
    positionals: [],
    options: {
      from: {
        type: 'text',
        value: 'store',
        about: 'the file of a SQLite database, or postgres://user@host:port/name',
        completes: 'file',
      },
      to: { type: 'text', value: 'store', about: 'the same', completes: 'file' },
      'start-over': {
        type: 'flag',
        about: 'throw away what an unfinished move has left in the target, and begin again',
      },
      json,
    },
    examples: [
      {
        line: 'talaria migrate-store --from ~/.talaria/talaria.db --to postgres://talaria@db.example.com/talaria',
        about: 'to Postgres',
      },
    ],
  }),
  sandboxImage: defineCommand({
    name: 'sandbox-image',
    about: 'print what docker build makes an image of, for sandboxes on other machines',
    details:
      'The image is the base and one directory more, /talaria, with the program that runs in a sandbox and this Node. ' +
      'The base needs glibc, libstdc++, a shell and the programs that agents use. Build it again after an update.',
    positionals: [{ name: 'base', about: 'name of the image to begin with' }],
    options: {},
    examples: [
      {
        line: 'talaria sandbox-image python:3.14 | docker build --tag registry.example.com/sandbox -',
        about: 'for Nomad, Kubernetes or Modal',
      },
    ],
  }),
  config: defineCommand({
    name: 'config',
    about: 'show the configuration and where each value comes from',
    details: 'A flag wins over the environment, which wins over the file.',
    positionals: [],
    options: { json },
    takesSettings: true,
    examples: [{ line: 'talaria config', about: 'what `talaria serve` would use' }],
  }),
  completion: defineCommand({
    name: 'completion',
    about: 'print a script that completes commands in your shell',
    positionals: [{ name: 'shell', choices: SHELLS, about: 'bash, zsh or fish' }],
    options: {},
    examples: [
      { line: 'source <(talaria completion bash)', about: 'now; in ~/.bashrc for good' },
      {
        line: 'talaria completion zsh > ~/.zfunc/_talaria',
        about: 'for good, in a directory of your fpath',
      },
      { line: 'talaria completion fish > ~/.config/fish/completions/talaria.fish', about: 'for good' },
    ],
  }),
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

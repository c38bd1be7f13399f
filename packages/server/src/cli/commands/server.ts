/** Commands about the server and about this machine. */
import { defineCommand } from '../command-spec.ts';
import { json, server } from './shared.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const serverCommands = {
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
      'Stop the servers first. The source stays as it is. The target has to be empty; in the end the command compares ' +
      'both. After any interruption, the same command continues where it was. Keep the password in PGPASSWORD or ' +
      '~/.pgpass: other users can read the arguments of a command in the list of processes.',
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
        about: 'delete what an unfinished move has left in the target, and begin again',
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
    about: 'print the input of docker build for an image of sandboxes on other machines',
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

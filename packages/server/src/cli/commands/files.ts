/** Commands about files that the server keeps. */
import { defineCommand } from '../command-spec.ts';
import { json, server } from './shared.ts';

const file = {
  name: 'file',
  about: 'id of an uploaded file; its beginning is enough',
  completes: 'upload',
} as const;

export const fileCommands = {
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
};

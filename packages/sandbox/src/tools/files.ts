/** `read_file` and `write_file`: whole text files of the workspace, or lines of them. */
import { defineTool } from './define-tool.ts';

const PATH = { type: 'string', minLength: 1, description: 'Path, relative to the workspace' } as const;

/** Lines come without numbers: models copy what they read into edits, and would copy the numbers too. */
export const readFile = defineTool({
  name: 'read_file',
  description:
    'Read a text file in the workspace. A file that is too long for one answer is cut at the end of a line; ' +
    'the answer then says how many lines there are and with which offset to read on.',
  schema: {
    type: 'object',
    properties: {
      path: PATH,
      offset: { type: 'integer', minimum: 1, description: 'First line to return, counted from 1' },
      limit: { type: 'integer', minimum: 1, description: 'How many lines to return (2000 by default)' },
    },
    required: ['path'],
  },
  example: { path: 'src/main.py', offset: 1, limit: 200 },
});

export const writeFile = defineTool({
  name: 'write_file',
  description:
    'Write a text file in the workspace, replacing it if it exists. Creates directories as needed. To change ' +
    'a part of a file use patch.',
  schema: {
    type: 'object',
    properties: {
      path: PATH,
      content: { type: 'string', description: 'The whole content of the file' },
    },
    required: ['path', 'content'],
  },
  example: { path: 'notes/plan.md', content: '# Plan\n' },
});

/** `read_file` and `write_file`: whole text files of the workspace, or lines of them. */
import { NOT_BLANK } from './arguments.ts';
import { defineTool } from './define-tool.ts';
import { oneLine } from './one-line.ts';
import type { SandboxCall } from './sandbox-call.ts';
import type { Tool } from './tool.ts';

/** Lines come without numbers: what is read is copied into edits, and numbers would come along. */
export function createReadFile(call: SandboxCall): Tool {
  return defineTool({
    tool: 'read_file',
    description:
      'Read a text file in the workspace. A file that is too long for one answer is cut at the end of a line; ' +
      'the answer then says how many lines there are and with which offset to read on.',
    schema: {
      type: 'object',
      properties: {
        path: { type: 'string', pattern: NOT_BLANK, description: 'Path, relative to the workspace' },
        offset: { type: 'integer', minimum: 1, description: 'First line to return, counted from 1' },
        limit: { type: 'integer', minimum: 1, description: 'How many lines to return (2000 by default)' },
      },
      required: ['path'],
    },
    example: { path: 'src/main.py', offset: 1, limit: 200 },
    prepare(args) {
      return {
        preview: oneLine(String(args.path)),
        async execute(signal) {
          const outcome = await call('read_file', args, signal);
          return outcome.output === '' ? { ...outcome, output: '[the file is empty]' } : outcome;
        },
      };
    },
  });
}

export function createWriteFile(call: SandboxCall): Tool {
  return defineTool({
    tool: 'write_file',
    description:
      'Write a text file in the workspace, replacing it if it exists. Creates directories as needed. To change ' +
      'a part of a file use patch.',
    schema: {
      type: 'object',
      properties: {
        path: { type: 'string', pattern: NOT_BLANK, description: 'Path, relative to the workspace' },
        content: { type: 'string', description: 'The whole content of the file' },
      },
      required: ['path', 'content'],
    },
    example: { path: 'notes/plan.md', content: '# Plan\n' },
    prepare: (args) => ({
      preview: oneLine(String(args.path)),
      execute: (signal) => call('write_file', args, signal),
    }),
  });
}

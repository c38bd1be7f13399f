/**
 * `search_files`: lines of the workspace by regular expression, or files by glob. The search is a command of the
 * sandbox, never work of the server; it needs no approval, since it only reads and what it runs is fixed.
 */
import { NOT_BLANK, wrongCall } from './arguments.ts';
import { defineTool } from './define-tool.ts';
import { oneLine } from './one-line.ts';
import type { SandboxCall } from './sandbox-call.ts';
import type { Tool } from './tool.ts';

const TOOL = 'search_files';

export function createSearchFiles(call: SandboxCall): Tool {
  return defineTool({
    tool: TOOL,
    description:
      'Search the workspace. target content (the default): lines that match a regular expression (Perl syntax, ' +
      '(?i) ignores case), as path:line:text. target files: paths that match a glob such as *.py or src/**/*.ts. ' +
      'Sorted by path. Binary files, links and directories named .git, .talaria and node_modules are left out, ' +
      'unless path starts in one of these. At most 30 seconds.',
    schema: {
      type: 'object',
      properties: {
        pattern: { type: 'string', minLength: 1, description: 'The regular expression, or the glob' },
        target: { type: 'string', enum: ['content', 'files'], description: 'What to look for' },
        path: {
          type: 'string',
          pattern: NOT_BLANK,
          description: 'Directory or file to search, relative to the workspace',
        },
        glob: { type: 'string', pattern: NOT_BLANK, description: 'Search only the content of these files' },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: 1000,
          description: 'How many results to return (100 by default)',
        },
        offset: { type: 'integer', minimum: 0, description: 'How many results to skip' },
        context: {
          type: 'integer',
          minimum: 0,
          maximum: 20,
          description: 'Lines to show around each match',
        },
      },
      required: ['pattern'],
    },
    example: { pattern: 'def \\w+_handler', path: 'src', glob: '*.py', context: 2 },
    prepare(args) {
      if (args.target === 'files' && args.glob !== undefined) {
        const problem = "with target files 'pattern' is the glob: leave 'glob' out";
        throw wrongCall(TOOL, problem, { pattern: '*.py', target: 'files' });
      }
      const where = [args.path, args.glob].filter((part) => part !== undefined).map((part) => ` in ${part}`);
      return {
        preview: oneLine(`${args.pattern}${where.join('')}`),
        execute: (signal) => call('search_files', args, signal),
      };
    },
  });
}

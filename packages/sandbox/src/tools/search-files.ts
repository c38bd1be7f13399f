/** `search_files`: lines of the workspace by regular expression, or files by glob. */
import { defineTool, type Refusal } from './define-tool.ts';

const MAX_PATTERN_LENGTH = 10_000;

export const searchFiles = defineTool({
  name: 'search_files',
  description:
    'Search the workspace. target content (the default): lines that match a regular expression (Perl syntax, ' +
    '(?i) ignores case), as path:line:text. target files: paths that match a glob such as *.py or src/**/*.ts. ' +
    'Sorted by path. Binary files, links and directories named .git and node_modules are left out, unless path ' +
    'starts in one of these. At most 30 seconds.',
  schema: {
    type: 'object',
    properties: {
      pattern: {
        type: 'string',
        minLength: 1,
        maxLength: MAX_PATTERN_LENGTH,
        description: 'The regular expression, or the glob',
      },
      target: { type: 'string', enum: ['content', 'files'], description: 'What to look for' },
      path: {
        type: 'string',
        minLength: 1,
        description: 'Directory or file to search, relative to the workspace',
      },
      glob: {
        type: 'string',
        minLength: 1,
        maxLength: MAX_PATTERN_LENGTH,
        description: 'Search only the content of these files',
      },
      limit: {
        type: 'integer',
        minimum: 1,
        description: 'How many results to return, up to 1000 (100 by default)',
      },
      offset: { type: 'integer', minimum: 0, description: 'How many results to skip' },
      context: { type: 'integer', minimum: 0, maximum: 20, description: 'Lines to show around each match' },
    },
    required: ['pattern'],
  },
  example: { pattern: 'def \\w+_handler', path: 'src', glob: '*.py', context: 2 },
  refuse(args): Refusal | undefined {
    for (const name of ['pattern', 'glob'] as const) {
      if (/[\0\n]/.test(args[name] ?? '')) return { problem: `'${name}' must be one line, without NUL` };
    }
    if (args.target !== 'files' || args.glob === undefined) return undefined;
    const problem = "with target files 'pattern' is the glob: leave 'glob' out";
    return { problem, example: { pattern: '*.py', target: 'files' } };
  },
});

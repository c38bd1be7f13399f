/** The tools for files. They need no approval: none of them leaves the workspace, and what a search runs is fixed. */
import { patch, readFile, searchFiles, writeFile } from '@talaria/sandbox/tools';
import { agentTool } from './agent-tool.ts';
import { oneLine } from './one-line.ts';
import type { SandboxCall } from './sandbox-call.ts';
import type { Tool } from './tool.ts';

export function createFileTools(call: SandboxCall): Tool[] {
  return [
    agentTool(readFile, {
      prepare: (args) => ({
        preview: oneLine(args.path),
        async execute(signal) {
          const outcome = await call('read_file', args, signal);
          return outcome.output === '' ? { ...outcome, output: '[the file is empty]' } : outcome;
        },
      }),
    }),
    agentTool(writeFile, {
      prepare: (args) => ({
        preview: oneLine(args.path),
        execute: (signal) => call('write_file', args, signal),
      }),
    }),
    agentTool(patch, {
      prepare: (args) => ({
        preview: oneLine('patch' in args ? filesIn(args.patch) : args.path),
        execute: (signal) => call('patch', args, signal),
      }),
    }),
    agentTool(searchFiles, {
      prepare(args) {
        const where = [args.path, args.glob]
          .filter((part) => part !== undefined)
          .map((part) => ` in ${part}`);
        return {
          preview: oneLine(`${args.pattern}${where.join('')}`),
          execute: (signal) => call('search_files', args, signal),
        };
      },
    }),
  ];
}

function filesIn(patch: string): string {
  const files = patch.matchAll(/^\*\*\* (?:Add|Update|Delete) File: *(.*)$/gm);
  return Array.from(files, ([, path]) => path).join(', ');
}

/** `patch`: edits files of the workspace, one by replacing a piece of it or several by a patch, all or none. */
import { NOT_BLANK, wrongCall } from './arguments.ts';
import { defineTool } from './define-tool.ts';
import { oneLine } from './one-line.ts';
import type { SandboxCall } from './sandbox-call.ts';
import type { Tool } from './tool.ts';

const TOOL = 'patch';
const REPLACE_EXAMPLE = { path: 'src/main.py', old_string: 'DEBUG = True', new_string: 'DEBUG = False' };
const PATCH_EXAMPLE = {
  patch:
    '*** Begin Patch\n*** Update File: src/main.py\n@@ def main():\n-    run()\n+    run(quiet=True)\n*** End Patch',
};
const REPLACING = ['path', 'old_string', 'new_string'];

export function createPatch(call: SandboxCall): Tool {
  return defineTool({
    tool: TOOL,
    description:
      'Edit text files in the workspace, in one of two ways. (1) path, old_string, new_string: replaces ' +
      'old_string, which must stand in the file exactly, and once unless replace_all is set. (2) patch: changes ' +
      'several files, all or none. Its text is: *** Begin Patch, then for each file *** Add File: <path> (its ' +
      'lines start with +), *** Delete File: <path>, or *** Update File: <path>, optionally *** Move to: <path>, ' +
      'and hunks; then *** End Patch. A hunk may start with @@ <a line of the file that comes before the ' +
      'change>; its lines start with a space (stays), - (goes) or + (comes). Give about 3 lines that stay around ' +
      'a change. *** End of File after a hunk means that it is at the end.',
    schema: {
      type: 'object',
      properties: {
        path: { type: 'string', pattern: NOT_BLANK, description: 'File to edit, relative to the workspace' },
        old_string: {
          type: 'string',
          minLength: 1,
          description: 'The text to replace, exactly as it stands',
        },
        new_string: { type: 'string', description: 'What comes in its place' },
        replace_all: { type: 'boolean', description: 'Replace every place where old_string stands' },
        patch: { type: 'string', pattern: NOT_BLANK, description: 'A patch over any number of files' },
      },
      required: [],
    },
    example: REPLACE_EXAMPLE,
    prepare(args) {
      const replacing = Object.keys(args).filter((name) => name !== 'patch');
      if (args.patch !== undefined && replacing.length > 0) {
        const problem = `'patch' goes alone, without ${replacing.join(', ')}: its text names the files`;
        throw wrongCall(TOOL, problem, PATCH_EXAMPLE);
      }
      const missing = REPLACING.filter((name) => args[name] === undefined);
      if (args.patch === undefined && missing.length > 0) {
        const problem = `give 'patch', or all of ${REPLACING.join(', ')}; missing: ${missing.join(', ')}`;
        throw wrongCall(TOOL, problem, REPLACE_EXAMPLE);
      }
      return {
        preview: oneLine(args.patch === undefined ? String(args.path) : filesIn(String(args.patch))),
        execute: (signal) => call('patch', args, signal),
      };
    },
  });
}

function filesIn(patch: string): string {
  const files = patch.matchAll(/^\*\*\* (?:Add|Update|Delete) File: *(.*)$/gm);
  return Array.from(files, ([, path]) => path).join(', ');
}

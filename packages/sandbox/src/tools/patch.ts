/** `patch`: edits files of the workspace, one by replacing a piece of it or several by a patch, all or none. */
import { defineTool, type Refusal } from './define-tool.ts';
import { NOT_BLANK } from './schema.ts';

const REPLACE_EXAMPLE = { path: 'src/main.py', old_string: 'DEBUG = True', new_string: 'DEBUG = False' };
const PATCH_EXAMPLE = {
  patch:
    '*** Begin Patch\n*** Update File: src/main.py\n@@ def main():\n-    run()\n+    run(quiet=True)\n*** End Patch',
};
const REPLACING = ['path', 'old_string', 'new_string'] as const;

type Patch = { readonly patch: string };

export type Replacement = {
  readonly path: string;
  readonly old_string: string;
  readonly new_string: string;
  readonly replace_all?: boolean;
};

const definition = defineTool({
  name: 'patch',
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
      path: { type: 'string', minLength: 1, description: 'File to edit, relative to the workspace' },
      old_string: { type: 'string', minLength: 1, description: 'The text to replace, exactly as it stands' },
      new_string: { type: 'string', description: 'What comes in its place' },
      replace_all: { type: 'boolean', description: 'Replace every place where old_string stands' },
      patch: { type: 'string', pattern: NOT_BLANK, description: 'A patch over any number of files' },
    },
    required: [],
  },
  example: REPLACE_EXAMPLE,
  refuse: refuseMixed,
});

/** A call has either a patch or a complete replacement, and not both. */
export const patch = {
  ...definition,
  check: (args: unknown) => definition.check(args) as Patch | Replacement,
};

function refuseMixed(args: Partial<Patch & Replacement>): Refusal | undefined {
  if (args.patch !== undefined) {
    const others = Object.keys(args).filter((name) => name !== 'patch');
    if (others.length === 0) return undefined;
    const problem = `'patch' goes alone, without ${others.join(', ')}: its text names the files`;
    return { problem, example: PATCH_EXAMPLE };
  }
  const missing = REPLACING.filter((name) => args[name] === undefined);
  if (missing.length === 0) return undefined;
  return { problem: `give 'patch', or all of ${REPLACING.join(', ')}; missing: ${missing.join(', ')}` };
}

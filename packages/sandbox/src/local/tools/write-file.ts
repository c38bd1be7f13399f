/** `write_file`: puts a whole text file into the workspace, with the directories above it. */

import { pathComponents } from '../../workspace/files/path-components.ts';
import { fileTurns } from '../../workspace/files/turns.ts';
import { replaceFile } from '../../workspace/writing/staged-file.ts';
import type { Run } from './tool.ts';

export const writeFile: Run<'write_file'> = async ({ path, content }, context) => {
  const components = pathComponents(path, context.isolation.workspaceDir(context.workspace));
  const { dir, stagingDir } = context.workspace;
  const bytes = Buffer.byteLength(content);
  await fileTurns.take(dir, async () => {
    await context.slotLimits.admit(bytes);
    await replaceFile(dir, components, content, { stagingDir });
  });
  return {
    output: `Wrote ${bytes} bytes to ${components.join('/')}.`,
    error: '',
    metadata: { total_bytes: bytes },
  };
};

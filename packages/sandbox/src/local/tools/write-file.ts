/** `write_file`: puts a whole text file into the workspace, with the directories above it. */
import { inTurn } from '../../workspace/files/turns.ts';
import { pathComponents, replaceFile } from '../../workspace/files/workspace-path.ts';
import { rejectUnknown, requiredString } from './arguments.ts';
import type { Tool } from './tool.ts';

export const writeFile: Tool = async (args, context) => {
  rejectUnknown(args, ['path', 'content']);
  const components = pathComponents(
    requiredString(args, 'path'),
    context.isolation.workspaceDir(context.workspace),
  );
  const content = requiredString(args, 'content');
  const { dir } = context.workspace;
  const bytes = Buffer.byteLength(content);
  await inTurn(dir, async () => {
    await context.slotLimits.admit(bytes);
    await replaceFile(dir, components, content);
  });
  return {
    output: `Wrote ${bytes} bytes to ${components.join('/')}.`,
    error: '',
    metadata: { total_bytes: bytes },
  };
};

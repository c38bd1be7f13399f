import { posix } from 'node:path';
import { outputFile } from '../../workspace/files/whole-outputs.ts';
import { createFile } from '../../workspace/files/workspace-path.ts';
import type { Spool } from '../process/output-capture.ts';
import type { ToolContext } from './tool.ts';

/** Creates the file for a whole output. The server writes it, which no rlimit stops in a full workspace. */
export async function openOutput(id: string, context: ToolContext): Promise<Spool> {
  const { isolation, workspace, slotLimits, limits } = context;
  await slotLimits.admit(limits.limitBytes);
  const components = outputFile(id);
  const handle = await createFile(workspace.tmpDir, components, workspace);
  return { handle, path: posix.join(isolation.tmpDir(workspace), ...components) };
}

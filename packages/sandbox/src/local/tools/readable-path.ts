/** Where the tools that read may look: in the workspace, and among whole outputs (workspace/files/whole-outputs.ts). */
import { pathComponents } from '../../workspace/files/path-components.ts';
import { explainMissing, outputComponents } from '../../workspace/files/whole-outputs.ts';
import type { ToolContext } from './tool.ts';

export interface ReadablePath {
  /** The directory that it is below, on the host and as commands see it. */
  root: string;
  seenAs: string;
  components: string[];
  /** How an answer names what is below the root. */
  prefix: string;
}

export async function withReadable<T>(
  path: string,
  { isolation, workspace }: Pick<ToolContext, 'isolation' | 'workspace'>,
  read: (place: ReadablePath) => Promise<T>,
): Promise<T> {
  const tmpDir = isolation.tmpDir(workspace);
  const output = outputComponents(path, tmpDir);
  if (output) {
    const place = { root: workspace.tmpDir, seenAs: tmpDir, components: output, prefix: `${tmpDir}/` };
    return explainMissing(path, () => read(place));
  }
  const seenAs = isolation.workspaceDir(workspace);
  return read({ root: workspace.dir, seenAs, components: pathComponents(path, seenAs), prefix: '' });
}

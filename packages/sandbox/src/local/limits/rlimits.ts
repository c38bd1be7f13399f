/** Limits that every process carries itself and hands on to its children, set by the shell that runs the command. */
export interface Rlimits {
  fileSizeBytes?: number | undefined;
  /** Private memory that can be written to: heap, thread stacks, copied pages. */
  dataBytes?: number | undefined;
  processes?: number | undefined;
}

/**
 * Soft and hard limits. One that cannot be set is above a hard limit the server has itself, which then holds. POSIX
 * counts file sizes in units of 512 bytes, bash in kilobytes, and has its own letter for processes.
 */
export function renderRlimits(
  { fileSizeBytes, dataBytes, processes }: Rlimits,
  shell: 'bash' | 'sh',
): string[] {
  const units = (bytes: number, size: number) => Math.max(1, Math.floor(bytes / size));
  const commands: string[] = [];
  if (fileSizeBytes !== undefined) {
    commands.push(`ulimit -f ${units(fileSizeBytes, shell === 'bash' ? 1024 : 512)} 2>/dev/null`);
  }
  if (dataBytes !== undefined) commands.push(`ulimit -d ${units(dataBytes, 1024)} 2>/dev/null`);
  if (processes !== undefined) {
    const bash = `ulimit -u ${processes} 2>/dev/null`;
    commands.push(shell === 'bash' ? bash : `${bash} || ulimit -p ${processes} 2>/dev/null`);
  }
  return commands;
}

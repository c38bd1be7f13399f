/** Limits that every process carries itself and hands on to its children, set by the shell that runs the command. */
export interface Rlimits {
  /** With 0 nothing can be written to a file. */
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
  const commands: string[] = [];
  if (fileSizeBytes !== undefined) {
    commands.push(`ulimit -f ${Math.ceil(fileSizeBytes / (shell === 'bash' ? 1024 : 512))} 2>/dev/null`);
    // A program that is told that it cannot write can say so, and go on; one that is ended cannot.
    if (fileSizeBytes === 0) commands.push("trap '' XFSZ");
  }
  if (dataBytes !== undefined) commands.push(`ulimit -d ${Math.ceil(dataBytes / 1024)} 2>/dev/null`);
  if (processes !== undefined) {
    const bash = `ulimit -u ${processes} 2>/dev/null`;
    commands.push(shell === 'bash' ? bash : `${bash} || ulimit -p ${processes} 2>/dev/null`);
  }
  return commands;
}

/** Limits that every process has and its children inherit, set by the shell that runs the command. */
export interface Rlimits {
  /** With 0 nothing can be written to a file. */
  fileSizeBytes?: number | undefined;
  /** Private memory that can be written to: heap, thread stacks, copied pages. */
  dataBytes?: number | undefined;
  processes?: number | undefined;
}

/**
 * Soft and hard limits. If one cannot be set, it is above a hard limit of the server itself, which then applies. POSIX
 * counts file sizes in units of 512 bytes, bash in kilobytes, and bash has its own letter for processes.
 */
export function renderRlimits(
  { fileSizeBytes, dataBytes, processes }: Rlimits,
  shell: 'bash' | 'sh',
): string[] {
  const commands: string[] = [];
  if (fileSizeBytes !== undefined) {
    commands.push(`ulimit -f ${Math.ceil(fileSizeBytes / (shell === 'bash' ? 1024 : 512))} 2>/dev/null`);
    // A program that gets an error for a write can report it and continue; one that is killed cannot.
    if (fileSizeBytes === 0) commands.push("trap '' XFSZ");
  }
  if (dataBytes !== undefined) commands.push(`ulimit -d ${Math.ceil(dataBytes / 1024)} 2>/dev/null`);
  if (processes !== undefined) {
    const bash = `ulimit -u ${processes} 2>/dev/null`;
    commands.push(shell === 'bash' ? bash : `${bash} || ulimit -p ${processes} 2>/dev/null`);
  }
  return commands;
}

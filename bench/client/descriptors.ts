import { readFileSync } from 'node:fs';

/** How many files and sockets a process may have open. Node has raised the soft limit to the hard one. */
export function availableDescriptors(): number {
  const limits = readFileSync('/proc/self/limits', 'utf8');
  return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? 1_024);
}

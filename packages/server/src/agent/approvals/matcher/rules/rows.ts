/** Finds the row of the tables for the name of a program. */
import { nameInTables, PROGRAMS } from '../programs/index.ts';

/** The loader of programs, which runs the one that it is given. */
export const LOADER = /^ld(?:-linux|-musl)?[\w.-]*\.so(?:\.\d+)?$/;

/** The row of a name, also where it carries a version or a target. */
export function rowOf(given: string): string | undefined {
  // No program has a longer name, and the patterns below are for short ones.
  if (given.length > 64) return undefined;
  const name = nameInTables(given);
  if (PROGRAMS.has(name)) return name;
  if (LOADER.test(name)) return 'ld.so';
  for (const short of [
    name.toLowerCase(),
    name.replace(/[-.]?\d+(?:\.\d+)*$/, ''),
    name.replace(/^(mkfs|fsck)\..*/, '$1'),
    name.replace(/^g(?=sed$|awk$|find$|xargs$|tar$|cp$|mv$|rm$|ls$|date$|stat$|head$|tail$|sort$)/, ''),
    name.replace(/^[\w]+-linux-[\w]+-/, ''),
    name.replace(/\.exe$/i, ''),
  ]) {
    if (short !== name && PROGRAMS.has(short)) return short;
  }
  return undefined;
}

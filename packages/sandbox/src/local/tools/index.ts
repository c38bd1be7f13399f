/** The tools of a local slot, by the names under which models call them. */
import { bash } from './bash.ts';
import { patch } from './patch.ts';
import { process } from './process.ts';
import { readFile } from './read-file.ts';
import { searchFiles } from './search-files.ts';
import type { Tool } from './tool.ts';
import { writeFile } from './write-file.ts';

export const TOOLS: ReadonlyMap<string, Tool> = new Map([
  ['bash', bash],
  ['process', process],
  ['read_file', readFile],
  ['write_file', writeFile],
  ['patch', patch],
  ['search_files', searchFiles],
]);

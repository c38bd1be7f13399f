/**
 * Every program that is known, by name. Adding one is a line in a table; no code reads their names elsewhere, except
 * where a program's arguments are a language of its own (rules/special.ts).
 */
import { BUILD } from './build.ts';
import { CONTAINERS } from './containers.ts';
import { FILES } from './files.ts';
import { GIT } from './git.ts';
import { NETWORK } from './network.ts';
import { PACKAGES } from './packages.ts';
import { SHELL } from './shell.ts';
import { SYSTEM } from './system.ts';
import { ProgramTable } from './table.ts';
import { TEXT } from './text.ts';
import { WRAPPERS } from './wrappers.ts';

export const TABLES = { FILES, TEXT, SHELL, WRAPPERS, GIT, PACKAGES, BUILD, SYSTEM, NETWORK, CONTAINERS };

/** Programs that take the same words as another. */
const SAME = new Map([
  ['podman', 'docker'],
  ['nerdctl', 'docker'],
  ['podman-compose', 'docker-compose'],
  ['oc', 'kubectl'],
  ['k', 'kubectl'],
  ['tofu', 'terraform'],
]);

/** The name under which the tables know a program. */
export const nameInTables = (name: string): string => SAME.get(name) ?? name;

export const PROGRAMS = new ProgramTable(Object.values(TABLES));

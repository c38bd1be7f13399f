/**
 * What a rule sees of the walk: one command with its expanded words, and the means to look further (another command,
 * shell source, a file that this line wrote). Rules hold no state.
 */
import type { Input, Scope } from '../walk/scope.ts';

/** How source text reached a shell; it decides which family an unknown part belongs to. */
export type CodeOrigin = 'argument' | 'pipe' | 'heredoc' | 'file' | 'process';

export interface Host {
  readonly scope: Scope;
  /** Judges a command; returns what it prints. `local`: a name without a row counts as a tool of the workspace. */
  run(argv: string[], input?: Input, local?: boolean): string;
  /** Judges shell source; returns what it prints. */
  code(text: string, origin: CodeOrigin, positional?: string[], input?: Input): string;
  /** What this command line wrote to `path`; undefined when it wrote nothing there. */
  read(path: string): string | undefined;
  write(path: string, text: string): void;
}

export interface Call {
  /** base name of the program */
  name: string;
  /** the words after the name, as marked text */
  args: string[];
  input: Input | undefined;
  host: Host;
}

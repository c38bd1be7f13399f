/**
 * What a rule sees of the walk: one command with its expanded words, and the means to look further
 * (another command, shell source, a file written earlier in the line). Rules hold no state.
 */
import type { Input, Scope } from './scope.ts';

/** How source text reached a shell; it decides which family an unknown part belongs to. */
export type CodeOrigin = 'argument' | 'pipe' | 'heredoc' | 'file' | 'process';

export interface Host {
  readonly scope: Scope;
  /** Classifies a command; returns what it prints. */
  run(argv: string[], input?: Input): string;
  /** Classifies shell source; returns what it prints. */
  code(text: string, origin: CodeOrigin, positional?: string[], input?: Input): string;
  /** Content this command line wrote to `path`; undefined when unknown. */
  read(path: string): string | undefined;
  write(path: string, text: string): void;
}

export interface Call {
  /** base name of the program, lower case */
  name: string;
  /** the words after the name, as marked text */
  args: string[];
  input: Input | undefined;
  host: Host;
}

export type Rule = (call: Call) => void;
/** Programs and what to check when one of them is called. */
export type RuleTable = Record<string, Rule>;

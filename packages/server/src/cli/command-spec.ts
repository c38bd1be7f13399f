/**
 * The specification of a command: its arguments, its purpose, its usage. Parsing, help and shell completion all read
 * it, and the types of a command's arguments are derived from it.
 */

export interface FlagOption {
  readonly type: 'flag';
  readonly short?: string;
  readonly about: string;
}

export interface TextOption {
  readonly type: 'text';
  readonly short?: string;
  /** The placeholder of the value in help: `id`, `file`. */
  readonly value: string;
  readonly about: string;
  /** The only allowed values. */
  readonly choices?: readonly string[];
  /** What a shell can complete it with. */
  readonly completes?: 'file' | 'session';
}

export interface IntegerOption {
  readonly type: 'integer';
  readonly short?: string;
  readonly value: string;
  readonly about: string;
  readonly min: number;
  readonly max: number;
}

export type OptionSpec = FlagOption | TextOption | IntegerOption;

export interface PositionalSpec {
  readonly name: string;
  readonly about: string;
  readonly optional?: boolean;
  /** Takes all remaining words. */
  readonly many?: boolean;
  readonly choices?: readonly string[];
  /**
   * What a shell can complete it with: ids of runs, of jobs, of uploaded files, of calls that the run before it waits for, or
   * files of this machine.
   */
  readonly completes?: 'run' | 'job' | 'call' | 'upload' | 'file';
}

export interface Example {
  readonly line: string;
  readonly about: string;
}

export interface CommandSpec {
  /** One word, or two for a command of a group: `artifacts ls`. */
  readonly name: string;
  /** Aliases of the last word of its name. */
  readonly aliases?: readonly string[];
  /** What it does, as the end of "talaria … : "; no capital, no full stop. */
  readonly about: string;
  /** Sentences for its own help, if one line is not enough. */
  readonly details?: string;
  readonly positionals: readonly PositionalSpec[];
  readonly options: Readonly<Record<string, OptionSpec>>;
  /** Also takes the settings of the server as flags, which the configuration reads. */
  readonly takesSettings?: boolean;
  readonly examples: readonly [Example, ...Example[]];
}

/** The arguments of a command: its options and positionals by name. */
export type ArgumentsOf<Spec extends CommandSpec> = {
  readonly [Name in keyof Spec['options']]: OptionValue<Spec['options'][Name]>;
} & {
  readonly [P in Spec['positionals'][number] as P['name']]: PositionalValue<P>;
} & (Spec extends { takesSettings: true } ? { readonly settings: readonly string[] } : unknown);

type OptionValue<Option extends OptionSpec> = Option extends { type: 'flag' }
  ? boolean
  : Option extends { type: 'integer' }
    ? number | undefined
    : (Option extends { choices: readonly (infer Choice)[] } ? Choice : string) | undefined;

type PositionalValue<P extends PositionalSpec> = P extends { many: true }
  ? readonly string[]
  :
      | (P extends { choices: readonly (infer Choice)[] } ? Choice : string)
      | (P extends { optional: true } ? undefined : never);

export function defineCommand<const Spec extends CommandSpec>(spec: Spec): Spec {
  return spec;
}

/** `artifacts` of `artifacts ls`. */
export function groupOf({ name }: Pick<CommandSpec, 'name'>): string | undefined {
  const space = name.indexOf(' ');
  return space < 0 ? undefined : name.slice(0, space);
}

/**
 * Reads the command line into given values: `--port 80`, `--port=80`, `--allow-network`, `--no-allow-network`.
 * If a flag is given twice, the last one counts.
 *
 * A message names a flag, never its value: the value of a mistyped `--api-kye` is still a key.
 */

import { didYouMean } from '../basics/nearest.ts';
import type { Given, GivenValues } from './given.ts';
import { HIDDEN, showGiven } from './kinds/kinds.ts';
import { configFileOption, flagOf, type SettingName, settingList } from './settings.ts';

export interface Flags {
  readonly given: GivenValues;
  readonly configPath: string | undefined;
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

const flags = new Map(settingList.map(([name, setting]) => [flagOf(setting), { name, kind: setting.kind }]));
const flagNames = [...flags.keys(), configFileOption.flag].map((flag) => `--${flag}`);

export function readFlags(argv: readonly string[], cwd: string): Flags {
  const given = new Map<SettingName, Given>();
  const problems: string[] = [];
  const warnings: string[] = [];
  let configPath: string | undefined;
  /** Whether a stray word may be part of a secret, as in `--api-key two words`. */
  let hideStray = false;

  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index]!;
    if (!argument.startsWith('-')) {
      const shown = hideStray ? HIDDEN : showGiven(argument);
      problems.push(`unexpected argument ${shown}: settings are given as --name value`);
      continue;
    }
    const equals = argument.indexOf('=');
    const label = equals < 0 ? argument : argument.slice(0, equals);
    const inline = equals < 0 ? undefined : argument.slice(equals + 1);
    /** The value after the flag; a following flag is not a value (write `--name=--value` for such a value). */
    const takeValue = () => {
      if (inline !== undefined) return inline;
      const next = argv[index + 1];
      if (next === undefined || next.startsWith('--')) return undefined;
      index++;
      return next;
    };

    const flag = label.replace(/^--/, '');
    const negated = flags.get(flag.replace(/^no-/, ''));
    const setting = label.startsWith('--') ? flags.get(flag) : undefined;
    hideStray = setting === undefined || setting.kind.secret;
    const give = (name: SettingName, value: string) =>
      given.set(name, { form: 'text', value, label, source: `flag ${label}`, baseDir: cwd });

    if (setting?.kind.name === 'boolean') {
      give(setting.name, inline ?? 'true');
    } else if (flag.startsWith('no-') && negated?.kind.name === 'boolean' && inline === undefined) {
      give(negated.name, 'false');
    } else if (setting !== undefined || label === `--${configFileOption.flag}`) {
      const value = takeValue();
      if (value === undefined || value === '') {
        problems.push(
          `${label} has no value; allowed: ${setting?.kind.allowed ?? 'the path of a JSON file'}`,
        );
      } else if (setting === undefined) {
        configPath = value;
      } else {
        give(setting.name, value);
        if (setting.kind.secret) {
          const env = settingList.find(([name]) => name === setting.name)![1].env;
          warnings.push(`${label} shows its secret in the list of processes; use ${env} or the file instead`);
        }
      }
    } else {
      takeValue();
      const word = /^-+[\w-]*/.exec(label)![0];
      problems.push(`unknown flag ${word}${didYouMean(word, flagNames)}`);
    }
  }
  return { given, configPath, problems, warnings };
}

/** The settings as help text for a terminal. */
import { configFileOption, flagOf, groups, type Setting, settingList } from './settings.ts';

/** Where the second column starts; a longer flag gets a line of its own. */
const COLUMN = 34;

export function settingsHelp(): string {
  const lines = [
    entry(`--${configFileOption.flag} <path>`, 'JSON file with settings', [
      configFileOption.env,
      `default ${configFileOption.fileName} in the data directory`,
    ]),
  ];
  for (const group of groups) {
    lines.push(`\n${group}:`);
    for (const [, setting] of settingList) {
      if (setting.group === group) lines.push(settingEntry(setting));
    }
  }
  return lines.join('\n');
}

/** The default as a user would write it, or `undefined` where there is none. */
export function defaultText(setting: Setting<unknown>): string | undefined {
  if (setting.defaultText !== undefined) return setting.defaultText;
  return setting.default === undefined ? undefined : setting.kind.format(setting.default);
}

function settingEntry(setting: Setting<unknown>): string {
  const { kind } = setting;
  const flag = kind.name === 'boolean' ? `--[no-]${flagOf(setting)}` : `--${flagOf(setting)} <${kind.name}>`;
  const fallback = defaultText(setting);
  return entry(flag, setting.about, [
    setting.env,
    ...(fallback === undefined ? [] : [`default ${fallback}`]),
  ]);
}

function entry(flag: string, about: string, notes: readonly string[]): string {
  const start = `  ${flag}`;
  const first = start.length < COLUMN - 1 ? start.padEnd(COLUMN) : `${start}\n${' '.repeat(COLUMN)}`;
  return `${first}${plain(about)}\n${' '.repeat(COLUMN)}[${plain(notes.join('; '))}]`;
}

/** Descriptions are written for Markdown; a terminal does not need its backticks. */
function plain(text: string): string {
  return text.replaceAll('`', '');
}

/** The document docs/configuration.md, from the table of settings. */
import { readFileSync } from 'node:fs';
import { defaultText } from '../../packages/server/src/config/help.ts';
import { flagOf, groups, type Setting, settingList } from '../../packages/server/src/config/settings.ts';

const introductionUrl = new URL('./configuration-introduction.md', import.meta.url);

export function configurationDocument(): string {
  const tables = groups.map((group) => {
    const rows = settingList
      .filter(([, setting]) => setting.group === group)
      .map(([, setting]) => row(setting));
    return [
      `### ${group}`,
      '',
      '| environment | flag | file key | allowed | default | |',
      '|---|---|---|---|---|---|',
      ...rows,
    ].join('\n');
  });
  return `${readFileSync(introductionUrl, 'utf8').trimEnd()}\n\n${tables.join('\n\n')}\n`;
}

function row(setting: Setting<unknown>): string {
  const { kind } = setting;
  const fallback = defaultText(setting);
  // A default in words is shown as text; one that can be typed is shown as code.
  const shownDefault = setting.defaultText ?? (fallback === undefined ? 'not set' : `\`${fallback}\``);
  const allowed = kind.secret ? `${kind.allowed} (secret)` : kind.allowed;
  const cells = [
    `\`${setting.env}\``,
    `\`--${flagOf(setting)}\``,
    `\`${setting.key}\``,
    allowed.replaceAll('*', '\\*'),
    shownDefault,
    setting.about,
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

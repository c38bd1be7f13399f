import { expect, it } from 'vitest';
import { configurationDocument } from '../../docs/tables/configuration.ts';
import { settingsHelp } from '../../packages/server/src/config/help.ts';
import { flagOf, settingList } from '../../packages/server/src/config/settings.ts';
import { load } from '../../packages/server/src/config/testing/load.ts';

it('shows an example file that loads', () => {
  const example = /```json\n(.*?)```/s.exec(configurationDocument())![1]!;
  const { config, warnings } = load({ argv: ['--config', '/t.json'], files: { '/t.json': example } });
  expect(warnings).toEqual([]);
  expect(config).toMatchObject({
    port: 8642,
    approvalsIsolated: 'skip',
    corsOrigins: ['https://app.example.com'],
  });
});

it('names every setting in the document and the help, once', () => {
  const help = settingsHelp();
  const document = configurationDocument();
  for (const [, setting] of settingList) {
    expect(help.match(new RegExp(`\\[${setting.env}[;\\]]`, 'g')), setting.env).toHaveLength(1);
    expect(document).toContain(`| \`${setting.env}\` | \`--${flagOf(setting)}\` | \`${setting.key}\` |`);
  }
});

/** The example of docs/mcp.md, unchanged. */
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { load } from '../../packages/server/src/config/testing/load.ts';
import { waitFor } from '../support/wait-for.ts';
import { call, inTurn, play } from './played-run.ts';
import { ServerWithModel } from './server-with-model.ts';

const root = new URL('../../', import.meta.url);
const document = readFileSync(new URL('docs/mcp.md', root), 'utf8');

function blocks(language: string): string[] {
  return [...document.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs'))].map((match) => match[1]!);
}

test('the example works', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'talaria-mcp-docs-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  // In place of the `npm install` of the page.
  symlinkSync(fileURLToPath(new URL('node_modules', root)), join(dir, 'node_modules'));
  writeFileSync(join(dir, 'clock.mjs'), blocks('js')[0]!);
  writeFileSync(join(dir, 'talaria.json'), blocks('json')[0]!);
  const world = await ServerWithModel.start({ TALARIA_CONFIG: join(dir, 'talaria.json') });
  onTestFinished(() => world[Symbol.asyncDispose]());
  await waitFor('the clock', async () =>
    JSON.stringify((await world.api.get('/health/detailed')).body).includes('"mcp__clock__now"'),
  );
  const { told } = await play(world, ...inTurn(call('mcp__clock__now', {})));
  expect(told[0]!.content).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
});

test('the other configuration on the page is valid', () => {
  const files = { '/t.json': blocks('json')[1]! };
  const { config } = load({ argv: ['--config', '/t.json'], files, env: { GITHUB_TOKEN: 'ghx-1' } });
  expect(config.mcpServers.map(({ name, approval }) => [name, approval])).toEqual([
    ['files', 'never'],
    ['github', 'always'],
  ]);
});

/** The examples of docs/openai.md, unchanged, with the demo model. One process runs them all: most of it is its start. */
import { execFile } from 'node:child_process';
import { mkdtempDisposableSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { readExamples } from '../installed/doc-examples.ts';
import { HostedServer } from '../support/hosted-server.ts';

const run = promisify(execFile);
const cwd = fileURLToPath(new URL('../../', import.meta.url));
const EXAMPLES = readExamples('docs/openai.md').map((example, index) => ({ ...example, index }));
/** Ends what an example prints. */
const END = '--- end of the example';

/** What each of them printed. */
let printed: string[][];
beforeAll(async () => {
  await using server = await HostedServer.start();
  using dir = mkdtempDisposableSync(join(tmpdir(), 'talaria-openai-docs-'));
  symlinkSync(join(cwd, 'node_modules'), join(dir.path, 'node_modules'));
  const lines = EXAMPLES.map(({ index, code }) => {
    writeFileSync(join(dir.path, `${index}.mts`), code);
    return `await import('./${index}.mts').catch(console.log); console.log('${END}');`;
  });
  const program = join(dir.path, 'all.mts');
  writeFileSync(program, lines.join('\n'));
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, OPENAI_BASE_URL: `${server.url}/v1`, OPENAI_API_KEY: 'none' };
  const { stdout } = await run(process.execPath, [program], { cwd, env });
  printed = stdout.split(`${END}\n`).map((text) => text.split('\n').slice(0, -1));
});

test.each(EXAMPLES)('$title prints what it says', ({ index, prints }) => {
  expect(printed[index]).toEqual(prints);
});

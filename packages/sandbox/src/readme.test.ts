import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const packageDir = fileURLToPath(new URL('..', import.meta.url));

test('the example in the README runs as it stands there', async () => {
  const example = /```ts\n(.*?)```/s.exec(readFileSync(`${packageDir}/README.md`, 'utf8'))?.[1];
  const node = spawn(process.execPath, ['--input-type=module-typescript', '-'], { cwd: packageDir });
  node.stdin.end(example);
  const [output, errors] = await Promise.all([text(node.stdout), text(node.stderr)]);
  expect(output, errors).toBe('100 of 100 solved\n');
});

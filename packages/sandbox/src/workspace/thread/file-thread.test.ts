import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

test('the thread for files works in a program whose options are not for threads', async () => {
  const program = `
    import { fileThread } from ${JSON.stringify(new URL('./file-thread.ts', import.meta.url).href)};
    try {
      for await (const bytes of fileThread.read('/nonexistent', ['file'])) console.log(bytes.length);
    } catch (error) {
      console.log(error.code);
    }
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
  expect(stdout).toBe('ENOENT\n');
});

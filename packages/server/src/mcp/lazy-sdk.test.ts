import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/** Prints whether the SDK was loaded while `file` was imported. */
const WATCH = `
  import { registerHooks } from 'node:module';
  let asked = false;
  registerHooks({
    resolve(specifier, context, next) {
      asked ||= specifier.startsWith('@modelcontextprotocol/');
      return next(specifier, context);
    },
  });
  await import(process.argv[1]);
  console.log(asked);
`;

function loadsSdk(file: string): boolean {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', WATCH, path], {
    encoding: 'utf8',
  });
  return output.trim() === 'true';
}

test('the SDK is loaded with the first connection, not with the server', () => {
  expect(loadsSdk('../start/start.ts')).toBe(false);
  expect(loadsSdk('./session.ts')).toBe(true);
});

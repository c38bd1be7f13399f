import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { SERVER_PROGRAM } from '../server-program.ts';
import { imageContext } from './image-context.ts';

const run = promisify(execFile);

test('an image context is a tar with the program, which runs from it and refuses another version', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'talaria-image-test-'));
  const tar = spawn('tar', ['-x'], { cwd: dir, stdio: ['pipe', 'inherit', 'inherit'] });
  const unpacked = once(tar, 'exit');
  await pipeline(imageContext('debian:13'), tar.stdin);
  expect(await unpacked).toEqual([0, null]);
  expect(await readFile(join(dir, 'Dockerfile'), 'utf8')).toBe('FROM debian:13\nCOPY talaria /talaria\n');
  expect(await readFile(join(dir, 'talaria/sandbox-server'), 'utf8')).toContain(SERVER_PROGRAM.entry);
  const config = { socketPath: 'socket', backend: { workspacesDir: join(dir, 'w') }, version: '0.0.0' };
  const entry = `talaria/sandbox/${SERVER_PROGRAM.entry}`;
  const started = run('talaria/node', [entry, JSON.stringify(config)], { cwd: dir });
  await expect(started).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`is version ${SERVER_PROGRAM.version}`),
  });
  await rm(dir, { recursive: true });
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';

const program = fileURLToPath(new URL('./testing/serve-stand-in.ts', import.meta.url));

describe('serve', () => {
  it('says where it listens, what it uses and what to type next', async () => {
    const server = start();
    await server.printed('stdout', /Try it/);
    const [, url] = /listens on (http:\/\/127\.0\.0\.1:\d+)/.exec(server.output.stdout)!;
    expect(server.output.stdout).toMatch(
      /model +demo\/commands\n +store +SQLite\n +sandbox +local, no isolation/,
    );
    expect(server.output.stdout).toContain(`\n  page     ${url}/ui/\n`);
    expect(server.output.stdout).toMatch(/Warning: the built-in demo model/);
    expect(server.output.stdout).toMatch(/Warning: commands run without isolation.*every command asks/);
    expect(server.output.stdout).toContain(
      `Try it:\n  talaria run --server ${url} 'Run \`echo hello\` and tell me what it says'\n`,
    );
  });

  it('names the command as it was called', async () => {
    const server = start({ env: { npm_execpath: '/usr/lib/npm-cli.js' } });
    await server.printed('stdout', /\n {2}npx talaria run/);
  });

  it('names the key by its variable and never prints it', async () => {
    const server = start({ env: { API_SERVER_KEY: 's3cret-key' } });
    await server.printed('stdout', /Try it, with one of your keys in TALARIA_API_KEY:/);
    expect(server.output.stdout + server.output.stderr).not.toContain('s3cret');
  });

  it('prints the warnings of the configuration', async () => {
    const server = start({ env: { TALARIA_MAX_STEP: '1' } });
    await server.printed('stdout', /Warning: unknown environment variable TALARIA_MAX_STEP; did you mean/);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('drains on %s and ends with 0', async (signal) => {
    const server = start();
    await server.printed('stdout', /listens/);
    server.process.kill(signal);
    expect(await server.exit).toEqual({ code: 0, signal: null });
    expect(server.output.stdout).toMatch(/closed\n$/);
    expect(server.output.stderr).toMatch(new RegExp(`^${signal}: waiting up to 30 s`));
  });

  it.each([
    ['SIGTERM', 'SIGINT', 130],
    ['SIGINT', 'SIGTERM', 143],
  ] as const)('ends at once on another signal: %s, then %s, with %i', async (first, signal, code) => {
    const server = start({ env: { STAND_IN: 'never-drains' } });
    await server.printed('stdout', /listens/);
    server.process.kill(first);
    await server.printed('stderr', /waiting up to/);
    server.process.kill(signal);
    expect(await server.exit).toEqual({ code, signal: null });
  });

  it('ends with 1 when the server could not be closed', async () => {
    const server = start({ env: { STAND_IN: 'fails-to-close' } });
    await server.printed('stdout', /listens/);
    server.process.kill('SIGTERM');
    expect(await server.exit).toEqual({ code: 1, signal: null });
    expect(server.output.stderr).toMatch(/Talaria did not stop cleanly: the journal is gone\n$/);
  });
});

describe('a start that fails', () => {
  it('because the port is taken says so in one line', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const server = start({ argv: ['--port', String(port)] });
    expect((await server.exit).code).toBe(1);
    expect(server.output.stderr).toBe(
      `Talaria could not start: 127.0.0.1 port ${port} is in use by another program; stop that one, or choose another port with --port (0 takes any free one)\n`,
    );
    expect(server.output.stdout).toBe('');
  });

  it('because the data directory cannot be made names it', async () => {
    const file = join(temporaryDirectory(), 'file');
    writeFileSync(file, '');
    const server = start({ argv: ['--data-dir', join(file, 'data')] });
    expect((await server.exit).code).toBe(1);
    expect(server.output.stderr).toMatch(
      /^Talaria could not start: .*file.* cannot be used \(ENOTDIR\).*--data-dir\n$/,
    );
  });

  it('shows one line, without secrets', async () => {
    const server = start({ env: { STAND_IN: 'quoting-a-secret', API_SERVER_KEY: 's3cret-key' } });
    expect((await server.exit).code).toBe(1);
    expect(server.output.stderr).toBe('Talaria could not start: bad key ***\n');
  });

  it('shows the stack at log level debug, still without secrets', async () => {
    const env = { STAND_IN: 'quoting-a-secret', API_SERVER_KEY: 's3cret-key', TALARIA_LOG_LEVEL: 'debug' };
    const server = start({ env });
    expect((await server.exit).code).toBe(1);
    expect(server.output.stderr).toMatch(/\n +at /);
    expect(server.output.stderr).not.toContain('s3cret');
  });

  it('because of its configuration lists the problems and ends with 2', async () => {
    const server = start({ argv: ['--port', 'x', '--host', '0.0.0.0'] });
    expect((await server.exit).code).toBe(2);
    expect(server.output.stderr).toMatch(
      /^The configuration has 2 problems:\n {2}- --port is "x"; allowed: .*\n {2}- --host is "0\.0\.0\.0".*\n/,
    );
  });
});

function start({ argv = [] as string[], env = {} as Record<string, string> } = {}) {
  const defaults = argv.includes('--port') ? [] : ['--port', '0'];
  const child = spawn(process.execPath, [program, ...defaults, ...argv], {
    env: { HOME: temporaryDirectory(), NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const output = { stdout: '', stderr: '' };
  const exit = once(child, 'close').then(([code, signal]) => ({ code, signal }));
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  /** Resolves when the stream has shown the text; fails with all output if the process ends before. */
  const printed = async (name: 'stdout' | 'stderr', text: RegExp) => {
    while (!text.test(output[name])) {
      const ended = await Promise.race([once(child[name], 'data').then(() => false), exit.then(() => true)]);
      if (ended && !text.test(output[name]))
        throw new Error(`ended without ${text}: ${JSON.stringify(output)}`);
    }
  };
  return { process: child, output, exit, printed };
}

function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'talaria-cli-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

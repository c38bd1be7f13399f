/** Files of a workspace through the command: listed, and downloaded completely. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { terminal as bash, ServerWithModel, waitForStatus } from '../e2e/server-with-model.ts';
import { script } from '../support/model-server.ts';
import { noTmux } from '../support/tmux.ts';
import { UnreliableProxy } from '../support/unreliable-proxy.ts';
import { waitFor } from '../support/wait-for.ts';
import { type RunOptions, spawnTalaria, talaria, talariaTerminal } from './talaria.ts';

const BIG_BYTES = 10_000_000;

/** A workspace with the worst names that a command can make. */
const MAKE = `
mkdir -p out/deep
echo report > out/report.txt
head -c ${BIG_BYTES} /dev/urandom > out/big.bin
printf 'red \\033[31m and a bell \\007\\n' > colours.txt
echo x > "$(printf 'esc\\033[2Jape')"
echo x > "$(printf 'two\\nlines')"
echo x > -rf
ln -s /etc/passwd link`;

let world: ServerWithModel;
let runId: string;
let directory: string;
let big: Buffer;

beforeAll(async () => {
  world = await ServerWithModel.start();
  runId = await world.api.create(script([{ tools: [bash(MAKE)] }, { text: 'done' }]));
  await waitForStatus(world.api, runId, 'completed');
  big = readFileSync(world.workspaceFile(runId, 'out/big.bin'));
});
afterAll(() => world[Symbol.asyncDispose]());

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'talaria-cli-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const artifacts = (argv: string[], options: RunOptions = {}) =>
  talaria(world.server.url, ['artifacts', ...argv], { cwd: directory, ...options });

describe('ls', () => {
  test('shows every name in a harmless form', async () => {
    const { code, stdout } = await artifacts(['ls', runId]);
    expect(code).toBe(0);
    expect(stdout).not.toMatch(/\x1b/);
    expect(stdout).toMatch(/^2 B +\S+ \S+ +esc␛\[2Jape$/m);
    expect(stdout).toMatch(/^2 B +\S+ \S+ +two␊lines$/m);
    expect(stdout).toMatch(/^- +\S+ \S+ +link \(symlink\)$/m);
    expect(stdout).toMatch(/^- +\S+ \S+ +out\/$/m);
  });

  test('lists directories recursively with -r, and prints paths with -q', async () => {
    const { stdout } = await artifacts(['ls', '-rq', runId, 'out']);
    expect(stdout).toBe('out/big.bin\nout/deep/\nout/report.txt\n');
  });
});

describe('cat', () => {
  test('writes the bytes unchanged to a pipe', async () => {
    expect((await artifacts(['cat', runId, 'colours.txt'])).stdout).toBe('red \x1b[31m and a bell \x07\n');
  });

  test.skipIf(noTmux !== '')(`and nothing that drives it to a terminal${noTmux}`, async () => {
    await using terminal = await talariaTerminal(world.server.url, [
      'artifacts',
      'cat',
      runId,
      'colours.txt',
    ]);
    expect(await terminal.exitCode()).toBe(0);
    expect(await terminal.screen({ colours: true })).toContain('red ␛[31m and a bell ␇');
  });

  test('says what does not exist', async () => {
    expect(await artifacts(['cat', runId, 'nothing'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('artifact_not_found'),
    });
  });
});

describe('get', () => {
  test('saves a file under its name, and nothing else', async () => {
    expect(await artifacts(['get', runId, 'out/report.txt'])).toEqual({
      code: 0,
      stdout: 'report.txt  7 B\n',
      stderr: '',
    });
    expect(readdirSync(directory)).toEqual(['report.txt']);
    expect(readFileSync(join(directory, 'report.txt'), 'utf8')).toBe('report\n');
  });

  test('overwrites nothing without --force', async () => {
    writeFileSync(join(directory, 'report.txt'), 'mine');
    expect(await artifacts(['get', runId, 'out/report.txt'])).toMatchObject({
      code: 1,
      stderr: 'report.txt exists; --force replaces it, -o gives another name\n',
    });
    expect(readFileSync(join(directory, 'report.txt'), 'utf8')).toBe('mine');
    expect(await artifacts(['get', '-f', runId, 'out/report.txt'])).toMatchObject({ code: 0 });
    expect(readFileSync(join(directory, 'report.txt'), 'utf8')).toBe('report\n');
    expect(readdirSync(directory)).toEqual(['report.txt']);
  });

  test.each(['-rf', 'two\nlines', 'esc\x1b[2Jape'])(
    'refuses the name %j and takes one with -o',
    async (name) => {
      const path = `./${name}`;
      expect(await artifacts(['get', runId, path])).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^".*" is not a safe file name; give one with -o\n$/),
      });
      expect(readdirSync(directory)).toEqual([]);
      expect(await artifacts(['get', runId, path, '-o', 'safe'])).toMatchObject({ code: 0 });
      expect(readFileSync(join(directory, 'safe'), 'utf8')).toBe('x\n');
    },
  );

  test('refuses links and paths outside the workspace', async () => {
    for (const path of ['link', '../../talaria.db', '/etc/passwd']) {
      expect(await artifacts(['get', runId, path])).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('invalid_path'),
      });
    }
    expect(readdirSync(directory)).toEqual([]);
  });

  test('takes a directory as an archive, the whole workspace too, and writes into a pipe', async () => {
    expect(await artifacts(['get', runId, 'out', '--format', 'tar'])).toMatchObject({ code: 0 });
    const listed = spawnSync('tar', ['tf', 'out.tar'], { cwd: directory, encoding: 'utf8' });
    expect(listed.stdout).toMatch(/report\.txt/);
    // A workspace without the big file, which takes seconds to compress.
    const small = await world.api.create(script([{ tools: [bash('echo x > file')] }, { text: 'done' }]));
    await waitForStatus(world.api, small, 'completed');
    expect(await artifacts(['get', small, '-o', 'all.tar.gz'])).toMatchObject({ code: 0 });
    expect(spawnSync('tar', ['tzf', 'all.tar.gz'], { cwd: directory }).status).toBe(0);
    const piped = await artifacts(['get', runId, 'out/report.txt', '-o', '-']);
    expect(piped).toEqual({ code: 0, stdout: 'report\n', stderr: '' });
  });

  test('continues after a cut connection, and saves what the server has', async () => {
    await using proxy = await UnreliableProxy.start(() => world.server.url, 7, { delay: 1 });
    const { ended } = spawnTalaria(proxy.url, ['artifacts', 'get', runId, 'out/big.bin', '--json'], {
      cwd: directory,
    });
    await waitFor('some of the file', () => partSize() > 100_000);
    proxy.faults = { cut: 0.1 };
    const { code, stdout } = await ended;
    expect(proxy.happened.cut).toBeGreaterThan(0);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      file: 'big.bin',
      bytes: BIG_BYTES,
      sha256: createHash('sha256').update(big).digest('hex'),
    });
    expect(readFileSync(join(directory, 'big.bin')).equals(big)).toBe(true);
    expect(readdirSync(directory)).toEqual(['big.bin']);
  });

  test('continues the download of an interrupted command', async () => {
    await using proxy = await UnreliableProxy.start(() => world.server.url, 7, { delay: 1 });
    const { child, output, ended } = spawnTalaria(proxy.url, ['artifacts', 'get', runId, 'out/big.bin'], {
      cwd: directory,
    });
    await waitFor('some of the file', () => partSize() > 1_000_000);
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ code: 130, stdout: '' });
    expect(output.stderr).toMatch(/^Interrupted at \d+%; the same command continues from there\n$/);
    expect(existsSync(join(directory, 'big.bin'))).toBe(false);
    const kept = partSize();
    expect(kept).toBeGreaterThan(1_000_000);

    expect(await artifacts(['get', runId, 'out/big.bin'])).toMatchObject({
      code: 0,
      stdout: 'big.bin  10 MB\n',
    });
    expect(readFileSync(join(directory, 'big.bin')).equals(big)).toBe(true);
    expect(readdirSync(directory)).toEqual(['big.bin']);
  });

  test("saves nothing that differs from the server's file", async () => {
    const digest = createHash('sha256').update(big).digest('hex').slice(0, 12);
    const part = join(directory, `big.bin.${digest}.part`);
    writeFileSync(part, '');
    truncateSync(part, 1_000_000);
    expect(await artifacts(['get', runId, 'out/big.bin'])).toMatchObject({
      code: 1,
      stderr: 'big.bin was damaged on the way and is not saved; try again\n',
    });
    expect(readdirSync(directory)).toEqual([]);
    expect(await artifacts(['get', runId, 'out/big.bin'])).toMatchObject({ code: 0 });
  });

  test.skipIf(noTmux !== '')(`shows how far it is in a terminal${noTmux}`, async () => {
    await using proxy = await UnreliableProxy.start(() => world.server.url, 7, { delay: 1 });
    const file = join(directory, 'big.bin');
    await using terminal = await talariaTerminal(
      proxy.url,
      ['artifacts', 'get', runId, 'out/big.bin', '-o', file],
      { columns: 90 },
    );
    await terminal.shows(/█+░+ +\d+% {2}[\d.]+ [kM]B of 10 MB {2}[\d.]+ [kM]B\/s {2}\d+s left {2}big\.bin$/m);
    proxy.faults = {};
    expect(await terminal.exitCode()).toBe(0);
    const screen = await terminal.screen();
    expect(screen.replaceAll('\n', '')).toBe(`${file}  10 MB`);
    expect(statSync(file).size).toBe(BIG_BYTES);
  });

  test('says what is wrong with the target path', async () => {
    expect(await artifacts(['get', runId, 'out/report.txt', '-o', 'missing/x'])).toMatchObject({
      code: 1,
      stderr: 'missing/x cannot be written: there is no such directory\n',
    });
  });

  function partSize(): number {
    const name = readdirSync(directory).find((file) => file.endsWith('.part'));
    return name === undefined ? 0 : statSync(join(directory, name)).size;
  }
});

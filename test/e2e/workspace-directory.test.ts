/** A run begins with one of the operator's directories: never with a path that a client names. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Api } from '../support/api.ts';
import { script } from '../support/model-server.ts';
import { endsAs, ofKind, ServerWithModel, terminal } from './server-with-model.ts';

const KB = 1000;
const KEYS = { API_SERVER_KEYS: 'ada:key-of-ada-0123456789,eve:key-of-eve-0123456789' };

let dir: string;
let world: ServerWithModel;
let ada: Api;
let eve: Api;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'talaria-directory-'));
  const app = join(dir, 'app');
  mkdirSync(app);
  execFileSync('bash', [
    '-c',
    'cd "$0"; echo one > file; mkdir -p deep/er; echo x > deep/er/run; chmod 750 deep/er/run; ln -s deep/er link; ln -s /etc/passwd out; mkfifo pipe; touch -d @1500000000 file',
    app,
  ]);
  writeFileSync(join(dir, 'large'), Buffer.alloc(2_000_000));
  mkdirSync(join(dir, 'big'));
  writeFileSync(join(dir, 'big', 'file'), Buffer.alloc(2_000_000));
  mkdirSync(join(dir, 'half'));
  writeFileSync(join(dir, 'half', 'file'), Buffer.alloc(500 * KB));
  const directories = {
    app: { path: app },
    private: { path: app, mode: 'copy', keys: ['eve'] },
    big: { path: join(dir, 'big') },
    half: { path: join(dir, 'half') },
    gone: { path: join(dir, 'gone') },
    file: { path: join(dir, 'large') },
  };
  world = await ServerWithModel.start({
    ...KEYS,
    TALARIA_DIRECTORIES: JSON.stringify(directories),
    TALARIA_WORKSPACE_SETUP_MB: '1',
  });
  ada = new Api(world.server.url, 'key-of-ada-0123456789');
  eve = new Api(world.server.url, 'key-of-eve-0123456789');
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true });
});

const look = (command: string) => script([{ tools: [terminal(command)] }, { text: 'done' }]);

test('copies it, with permissions, times and links, and leaves the original alone', async () => {
  const command =
    'cat file deep/er/run; stat -c "%a %Y" deep/er/run file; readlink link out; echo changed > file; ls; [ "$(stat -c %u deep)" = "$(id -u)" ] && echo mine';
  const workspace = { directory: 'app', files: [{ path: 'deep/more', content: 'm' }] };
  const runId = await ada.create(look(command), { workspace });
  const { frames } = await endsAs(ada, runId, 'run.completed');
  expect(ofKind(frames, 'tool.completed')[0]!.preview).toMatch(
    /^one\nx\n750 \d+\n644 1500000000\ndeep\/er\n\/etc\/passwd\ndeep\nfile\nlink\nout\nmine\n$/,
  );
  expect(readFileSync(join(dir, 'app', 'file'), 'utf8')).toBe('one\n');
});

test("refuses a name that is not there, and another key's in the same words", async () => {
  const refusal = async (api: Api, directory: unknown) => {
    const { status, body } = await api.post<{ error: object }>('/v1/runs', {
      input: 'x',
      workspace: { directory },
    });
    return { status, ...body.error };
  };
  const unknown = await refusal(ada, 'nope');
  expect(unknown).toMatchObject({ status: 400, code: 'invalid_workspace', param: 'workspace.directory' });
  expect(await refusal(ada, 'private')).toEqual(unknown);
  for (const path of ['/etc', '..', join(dir, 'app')]) {
    expect(await refusal(ada, path)).toMatchObject({ status: 400, param: 'workspace.directory' });
  }
  const runId = await eve.create(look('cat file'), { workspace: { directory: 'private' } });
  await endsAs(eve, runId, 'run.completed');
});

test.each([
  ['big', /over 1048576 bytes/],
  ['gone', /: the path of the directory 'gone' does not exist on the server, whose log names it$/],
  ['file', /not a directory/],
])('fails for %s, and says why', async (directory, message) => {
  const runId = await ada.create(look('true'), { workspace: { directory } });
  await endsAs(ada, runId, 'run.failed');
  const { error, error_code } = await ada.run(runId);
  expect(error_code).toBe('workspace_setup');
  expect(error).toMatch(/^workspace\.directory: /);
  expect(error).toMatch(message);
});

describe('the limits are for all parts together', () => {
  const half = { directory: 'half' };
  const tar = execFileSync('bash', ['-c', 'cd "$(mktemp -d)"; head -c 300000 /dev/zero > z; tar cz z; rm z']);
  const archives = { archives: [{ path: '.', content: tar.toString('base64'), encoding: 'base64' }] };
  const files = { files: [{ path: 'f', content: 'x'.repeat(300 * KB) }] };

  test.each([['a directory and an archive', { ...half, ...archives }]])('%s fit', fit);
  test.each([
    ['a directory and a file', { ...half, ...files }],
    ['an archive and a file', { ...archives, ...files }],
  ])('%s fit', { tags: ['soak'] }, fit);

  async function fit(_: string, workspace: object): Promise<void> {
    await endsAs(ada, await ada.create(look('true'), { workspace }), 'run.completed');
  }

  test('the three of them do not, and the last one is named', async () => {
    const runId = await ada.create(look('true'), { workspace: { ...half, ...archives, ...files } });
    const { error, error_code } = await endsAs(ada, runId, 'run.failed');
    expect([error_code, error]).toEqual([
      'workspace_setup',
      expect.stringMatching(/^workspace\.files: .*bytes/),
    ]);
  });
});

test('a run that was queued when the operator took the directory from its key does not get it', async () => {
  const directories = (keys: string[]) => ({
    TALARIA_DIRECTORIES: JSON.stringify({ private: { path: join(dir, 'app'), keys } }),
  });
  await using queued = await ServerWithModel.start({
    ...KEYS,
    ...directories(['ada', 'eve']),
    TALARIA_MAX_CONCURRENT_RUNS: '1',
  });
  const as = (key: string) => new Api(queued.server.url, `key-of-${key}-0123456789`);
  await as('eve').create(script([{ gate: 'busy', text: 'done' }]));
  await queued.model.waitingAt('busy');
  const workspace = { directory: 'private' };
  const ofAda = await as('ada').create(look('cat file'), { workspace });
  const ofEve = await as('eve').create(look('cat file'), { workspace });
  await queued.server.restart(directories(['eve']), () => queued.model.open('busy'));
  const { error, error_code } = await endsAs(as('ada'), ofAda, 'run.failed');
  expect([error_code, error]).toEqual([
    'workspace_setup',
    "workspace.directory: the server has no directory 'private' any more",
  ]);
  await endsAs(as('eve'), ofEve, 'run.completed');
});

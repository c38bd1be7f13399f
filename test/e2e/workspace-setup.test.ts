/** A run begins with the files, archives and uploads that its request names, or fails and says which part is wrong. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { script } from '../support/model-server.ts';
import { endsAs, ofKind, ServerWithModel, terminal, wholeStream } from './server-with-model.ts';

const KEYS = { API_SERVER_KEYS: 'ada:key-of-ada-0123456789,eve:key-of-eve-0123456789' };

let world: ServerWithModel;
beforeAll(async () => {
  world = await ServerWithModel.start({
    TALARIA_WORKSPACE_SETUP_MB: '100',
    TALARIA_WORKSPACE_SETUP_ENTRIES: '1000',
  });
});
afterAll(() => world[Symbol.asyncDispose]());

const look = (command: string) => script([{ tools: [terminal(command)] }, { text: 'done' }]);
const sh = (command: string) => execFileSync('sh', ['-c', command]);
/** Of a directory that the command fills. */
const packed = (command: string, pack = 'tar cz .') =>
  sh(`d=$(mktemp -d); cd $d; { ${command}; } >&2; ${pack}; rm -rf $d`).toString('base64');
const archive = (content: string, path = '.') => ({ path, content, encoding: 'base64' });

/** What a command finds in its workspace. */
async function seen(workspace: object, command: string): Promise<string> {
  const runId = await world.api.create(look(command), { workspace });
  const { frames } = await endsAs(world.api, runId, 'run.completed');
  return ofKind(frames, 'tool.completed')[0]!.preview;
}

async function failure(workspace: object): Promise<string> {
  const asked = world.model.requests.length;
  const runId = await world.api.create(look('echo begun'), { workspace });
  const { frames } = await endsAs(world.api, runId, 'run.failed');
  expect(frames).toHaveLength(1);
  const run = await world.api.run(runId);
  expect(run).toMatchObject({ error_code: 'workspace_setup', status: 'failed' });
  // No step was made.
  expect(world.model.requests.length).toBe(asked);
  return run.error!;
}

describe('a run begins with', () => {
  test('files, which its commands own and can change', async () => {
    const workspace = {
      files: [
        { path: 'a/b/text', content: 'ü\n' },
        { path: 'bytes', content: 'AP8=', encoding: 'base64' },
        { path: 'empty', content: '' },
      ],
    };
    const command =
      'cat a/b/text; od -An -tx1 bytes; stat -c %s empty; echo more >> a/b/text; touch a/new; stat -c %a a/b/text';
    expect(await seen(workspace, command)).toBe('ü\n 00 ff\n0\n644\n');
  });

  test('archives, each over the one before, and files over them', async () => {
    const first = packed(
      'mkdir -p src/lib; echo one > src/lib/a; echo one > src/b; ln -s lib src/link; chmod 755 src/b',
    );
    const second = packed('echo two > a', 'tar c .');
    const workspace = {
      archives: [archive(first), archive(second, 'src/lib')],
      files: [{ path: 'src/b', content: 'three\n' }],
    };
    expect(await seen(workspace, 'cat src/lib/a src/b src/link/a; readlink src/link')).toBe(
      'two\nthree\ntwo\nlib\n',
    );
  });

  test('a zip', async () => {
    const code =
      'import sys, zipfile; z = zipfile.ZipFile(sys.stdout.buffer, "w", 8); z.writestr("d/f", "x" * 9); z.close()';
    const zip = sh(`python3 -c '${code}'`).toString('base64');
    expect(await seen({ archives: [archive(zip, 'in')] }, 'cat in/d/f')).toBe('xxxxxxxxx');
  });

  test('files in place before the model is asked', async () => {
    const gate = `gate-${Math.random()}`;
    const runId = await world.api.create(script([{ text: 'done', gate }]), {
      workspace: { files: [{ path: 'early', content: 'there' }] },
    });
    await world.model.waitingAt(gate);
    expect(readFileSync(world.workspaceFile(runId, 'early'), 'utf8')).toBe('there');
    world.model.open(gate);
    await endsAs(world.api, runId, 'run.completed');
  });

  test('nothing without the field, and no workspace either', async () => {
    const runId = await world.api.create(script([{ text: 'done' }]), { workspace: {} });
    await endsAs(world.api, runId, 'run.completed');
    expect(existsSync(world.workspaceFile(runId))).toBe(false);
  });
});

describe('a run fails before its first step, and names the part,', () => {
  const WRONG: [string, string, RegExp][] = [
    ['that leads out', packed('mkdir d; echo x > x', 'tar c --transform s,x,../x, x'), /'\.\.' in its path/],
    [
      'with a file through a link',
      packed('ln -s y x; tar cf a.tar x; rm x; mkdir x; touch x/f; tar rf a.tar x/f', 'cat a.tar'),
      /below the link/,
    ],
    [
      'with too many entries',
      packed('touch $(seq 1001)'),
      /parts of the workspace have more than 1000 entries/,
    ],
  ];
  /** archives.test.ts shows them without a run. */
  const ALSO_WRONG: typeof WRONG = [
    ['with an absolute path', packed('echo x > x', 'tar cP --transform s,x,/tmp/x, x'), /absolute path/],
    ['with a link out', packed('ln -s /etc etc'), /leads to an absolute path/],
    ['with a hard link', packed('echo x > x; ln x y'), /hard link/],
    ['with a FIFO', packed('mkfifo p'), /FIFO/],
    [
      'that unpacks to too much for its size',
      packed('truncate -s 90M zeros'),
      /unpacks to more than \d+ bytes/,
    ],
    [
      'that is none',
      Buffer.from('just text'.repeat(100)).toString('base64'),
      /neither a tar, a tar\.gz nor a zip/,
    ],
    [
      'that is cut off',
      packed('head -c 9999 /dev/urandom > r', 'tar cz . | head -c 5000'),
      /incomplete|middle/,
    ],
  ];
  test.each(WRONG)('with an archive %s', failsWith);
  test.each(ALSO_WRONG)('with an archive %s', { tags: ['soak'] }, failsWith);

  async function failsWith(_: string, content: string, message: RegExp): Promise<void> {
    const workspace = {
      archives: [archive(packed('echo fine > fine')), archive(content)],
      files: [{ path: 'file', content: '' }],
    };
    const error = await failure(workspace);
    expect(error).toMatch(/^workspace\.archives\[1\]: /);
    expect(error).toMatch(message);
  }

  test('where parts are in the way of each other', async () => {
    const link = archive(packed('mkdir other; ln -s other dir'));
    const below = archive(packed('mkdir dir; echo x > dir/x'));
    expect(await failure({ archives: [link, below] })).toBe(
      'workspace.archives[1]: dir exists already and is not a directory.',
    );
    expect(await failure({ archives: [link], files: [{ path: 'other', content: '' }] })).toBe(
      'workspace.files: other is a directory, and a file should go there.',
    );
  });

  test('when it is too much', { tags: ['soak'] }, async () => {
    const workspace = {
      archives: [archive(packed('head -c 60M /dev/urandom > a', 'gzip -c a | head -c 1000'))],
    };
    expect(await failure(workspace)).toMatch(/^workspace\.archives\[0\]: /);
  });
});

test('a run that is stopped while it is set up ends as cancelled', async () => {
  const runId = await world.api.create(look('echo begun'), {
    workspace: { archives: [archive(packed('for i in $(seq 900); do echo $i > $i; done'))] },
  });
  await world.api.stop(runId);
  const frames = await wholeStream(world.api, runId);
  expect(['run.cancelled', 'run.completed']).toContain(frames.at(-1)!.event.event);
});

test('a request that names what does not exist is refused, and no run is made', async () => {
  await using keyed = await ServerWithModel.start(KEYS);
  const post = (key: string, workspace: unknown) =>
    fetch(`${keyed.server.url}/v1/runs`, {
      method: 'POST',
      headers: { authorization: `Bearer key-of-${key}-0123456789` },
      body: JSON.stringify({ input: 'x', workspace }),
    });
  for (const [workspace, param] of [
    [{ files: [{ path: 'a', file_id: `file-${'0'.repeat(32)}` }] }, 'workspace.files[0].file_id'],
    [{ archives: [{ file_id: `file-${'0'.repeat(32)}` }] }, 'workspace.archives[0].file_id'],
    [{ files: [{ path: '../x', content: '' }] }, 'workspace.files[0].path'],
  ] as const) {
    const answer = await post('ada', workspace);
    expect([answer.status, await answer.json()]).toEqual([
      400,
      { error: expect.objectContaining({ code: 'invalid_workspace', param }) },
    ]);
  }
  const list = await fetch(`${keyed.server.url}/v1/runs`, {
    headers: { authorization: 'Bearer key-of-ada-0123456789' },
  });
  expect(await list.json()).toMatchObject({ data: [] });
  expect(readdirSync(join(keyed.server.dataDir, 'workspaces')).filter((name) => name !== '.sandbox')).toEqual(
    [],
  );
});

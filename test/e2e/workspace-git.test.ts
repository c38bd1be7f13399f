/** A run begins with repositories, cloned inside its sandbox from a real server, with nothing that git could be made to run. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { GitServer } from '../support/git-server.ts';
import { script } from '../support/model-server.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { endsAs, ofKind, ServerWithModel, terminal } from './server-with-model.ts';

let world: ServerWithModel<ServerProcess>;
let git: GitServer;
let first: string;
beforeAll(async () => {
  [world, git] = await Promise.all([
    ServerWithModel.startProcess({ TALARIA_ALLOW_NETWORK: 'true', TALARIA_APPROVALS_ISOLATED: 'skip' }),
    GitServer.start(),
  ]);
  first = git.create(
    'app',
    `echo one > file; mkdir -p dir hooks; echo x > dir/x; echo 'echo ran > /tmp/ran' > hooks/post-checkout;
     chmod 755 hooks/post-checkout; git add .; git commit -qm one; git rev-parse HEAD; git tag v1;
     echo two > file; git commit -qam two; git checkout -qb other; echo three > file; git commit -qam three; git checkout -q main`,
  );
});
afterEach(() => {
  git.credentials = undefined;
  git.redirectTo = undefined;
  git.requests.length = 0;
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await git[Symbol.asyncDispose]();
});

const look = (command: string) => script([{ tools: [terminal(command)] }, { text: 'done' }]);
const repository = (name = 'app') => `${git.url}/${name}.git`;

async function seen(workspace: object, command: string): Promise<string> {
  const runId = await world.api.create(look(command), { workspace });
  const { frames } = await endsAs(world.api, runId, 'run.completed');
  return ofKind(frames, 'tool.completed')[0]!.preview;
}

async function failure(workspace: object): Promise<string> {
  const runId = await world.api.create(look('echo begun'), { workspace });
  await endsAs(world.api, runId, 'run.failed');
  const { error, error_code } = await world.api.run(runId);
  expect(error_code).toBe('workspace_setup');
  return error!;
}

describe('a run begins with a repository', () => {
  test('at its default branch, a branch, a tag or a commit, as shallow as asked', async () => {
    const asked: [object, string, number][] = [
      [{}, 'two', 2],
      [{ ref: 'other' }, 'three', 3],
      [{ ref: 'v1' }, 'one', 1],
      [{ depth: 1 }, 'two', 1],
      [{ ref: 'other', depth: 1 }, 'three', 1],
      [{ ref: first }, 'one', 1],
      [{ ref: first, depth: 1 }, 'one', 1],
    ];
    const git = asked.map(([how], i) => ({ path: `deep/er/${i}`, url: repository(), ...how }));
    const command =
      'for r in deep/er/*; do cat $r/file; git -C $r log --oneline | wc -l; done; git -C deep/er/5 rev-parse HEAD; git -C deep/er/6 rev-parse HEAD';
    expect(await seen({ git }, command)).toBe(
      `${asked.map(([, text, commits]) => `${text}\n${commits}\n`).join('')}${first}\n${first}\n`,
    );
  });

  test('in the workspace itself, beside another, and with files and archives over it', async () => {
    const workspace = {
      git: [{ url: repository() }, { path: 'dir/second', url: repository(), ref: 'v1' }],
      files: [{ path: 'file', content: 'mine\n' }],
    };
    expect(await seen(workspace, 'cat file dir/x dir/second/file; git status --short file')).toBe(
      'mine\nx\none\n M file\n',
    );
  });

  test('that commands own, can commit to, and whose hooks do not run', async () => {
    const command =
      'cd repo && touch new && git add new && git -c user.name=a -c user.email=b@c commit -qm new && ls .git/hooks; ls /tmp';
    expect(await seen({ git: [{ path: 'repo', url: repository() }] }, command)).not.toContain('ran');
  });

  test('without its submodules', async () => {
    git.create('sub', 'echo x > x; git add .; git commit -qm x');
    git.create(
      'super',
      `printf '[submodule "a"]\\n\\tpath = a\\n\\turl = ${repository('sub')}\\n' > .gitmodules; git add .;
       git update-index --add --cacheinfo 160000,${first},a; git commit -qm x`,
    );
    expect(await seen({ git: [{ path: 'r', url: repository('super') }] }, 'ls -A r r/a')).toBe(
      'r:\n.git\n.gitmodules\na\n\nr/a:\n',
    );
    expect(git.requests.some(({ url }) => url.includes('sub.git'))).toBe(false);
  });
});

describe('credentials in the URL', () => {
  const withUser = (user: string, name?: string) => repository(name).replace('://', `://${user}@`);

  test('are used, and are nowhere to be found afterwards', async () => {
    git.credentials = 'user:pässword/secret-1234';
    const url = withUser('user:p%C3%A4ssword%2Fsecret-1234');
    const found =
      'grep -rs secret-1234 . /tmp && echo found; git -C repo config --list | grep -i url; env | grep -c GIT_';
    expect(await seen({ git: [{ path: 'repo', url }] }, `${found}; true`)).toBe(
      `remote.origin.url=${repository()}\n0\n`,
    );
    expect(git.requests.length).toBeGreaterThan(0);
    const { errors, output } = world.server;
    expect(errors + output).not.toMatch(/secret-1234/);
  });

  test('are in no error', async () => {
    git.credentials = 'user:right';
    const error = await failure({ git: [{ path: 'repo', url: withUser('user-name-1:wrong-secret-1') }] });
    expect(error).toMatch(/^workspace\.git\[0\]: .*Authentication failed/s);
    const basic = Buffer.from('user-name-1:wrong-secret-1').toString('base64');
    for (const text of [error, world.server.errors, world.server.output]) {
      for (const secret of ['wrong-secret-1', 'user-name-1', basic]) expect(text).not.toContain(secret);
    }
  });

  test('are not sent to the server of a redirect, whether or not the first one has asked for them', async () => {
    await using other = await GitServer.start();
    other.create('app', 'echo other > file; git add .; git commit -qm x');
    git.redirectTo = other.url;
    git.credentials = 'user:secret-1234';
    const workspace = { git: [{ path: 'repo', url: withUser('user:secret-1234') }] };
    // Whether git follows a redirect after it was asked for credentials depends on its version. What it sends does not.
    await seen(workspace, 'cat repo/file').catch(() => {});
    expect(git.requests.some(({ authorization }) => authorization?.startsWith('Basic '))).toBe(true);

    expect(other.requests.length).toBeGreaterThan(0);
    const beforeSecond = other.requests.length;
    git.credentials = undefined;
    other.credentials = 'user:secret-1234';
    expect(await failure(workspace)).toMatch(/could not read Username/);
    expect(other.requests.length).toBeGreaterThan(beforeSecond);
    expect(other.requests.filter(({ authorization }) => authorization !== undefined)).toEqual([]);
  });
});

describe('a run fails, and says why,', () => {
  test.each([
    ['for a repository that does not exist', () => ({ url: repository('missing') }), /not found/],
    ['for a branch that does not exist', () => ({ url: repository(), ref: 'nope' }), /nope not found/],
    ['for a commit that does not exist', () => ({ url: repository(), ref: '0'.repeat(40) }), /0{40}/],
    ['for a server that does not answer', () => ({ url: 'http://127.0.0.1:9/x' }), /127\.0\.0\.1/],
  ])('%s', async (_, entry, message) => {
    const error = await failure({ git: [{ path: 'r', ...entry() }] });
    expect(error).toMatch(/^workspace\.git\[0\]: /);
    expect(error).toMatch(message);
  });

  test.each(['file:///etc', 'ext::touch%20/tmp/ran;', 'ssh://127.0.0.1', 'ftp://127.0.0.1'])(
    'when the server sends it to %s',
    async (target) => {
      git.redirectTo = target;
      expect(await failure({ git: [{ path: 'repo', url: repository() }] })).toMatch(/^workspace\.git\[0\]: /);
    },
  );

  test('where something is in the way', async () => {
    const twice = {
      git: [
        { path: 'repo', url: repository() },
        { path: 'repo/dir', url: repository() },
      ],
    };
    expect(await failure(twice)).toMatch(
      /^workspace\.git\[1\]: .*already exists and is not an empty directory/s,
    );
  });

  test('without network', async () => {
    await using closed = await ServerWithModel.start();
    const runId = await closed.api.create(look('true'), { workspace: { git: [{ url: repository() }] } });
    await endsAs(closed.api, runId, 'run.failed');
    expect((await closed.api.run(runId)).error).toBe(
      'workspace.git[0]: the sandbox has no network; the operator can allow it with TALARIA_ALLOW_NETWORK',
    );
    expect(git.requests).toEqual([]);
  });
});

test('a run that is stopped while it clones ends, and nothing of it stays', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  try {
    await once(silent, 'listening');
    const asked = once(silent, 'request');
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/x.git`;
    const runId = await world.api.create(look('true'), { workspace: { git: [{ path: 'repo', url }] } });
    await asked;
    await world.api.stop(runId);
    await endsAs(world.api, runId, 'run.cancelled');
    expect(existsSync(world.workspaceFile(runId, 'repo/.git/config'))).toBe(false);
  } finally {
    silent.closeAllConnections();
    silent.close();
  }
});

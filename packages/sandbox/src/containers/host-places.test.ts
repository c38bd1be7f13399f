/** Moves of workspaces, with containers that are only directories. */
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SlotUsers } from '../local/isolation/slot-users.ts';
import { Workspaces } from '../workspace/workspaces.ts';
import { ContainerDirectory } from './container-directory.ts';
import { HostPlaces } from './host-places.ts';

const KEPT = { nobodys: false, trustedState: true };
const isRoot = process.getuid?.() === 0;
const user = isRoot
  ? { uid: 65_533, gid: 65_533 }
  : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

let base: string;
let workspaces: Workspaces;
let places: HostPlaces;
let container: ContainerDirectory;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'talaria-places-'));
  workspaces = await Workspaces.open(base);
  places = new HostPlaces(workspaces, user);
  container = await newContainer('one');
});
afterEach(() => rm(base, { recursive: true, force: true }));

/** As the server inside would have created it. */
async function newContainer(name: string): Promise<ContainerDirectory> {
  const created = new ContainerDirectory(join(base, name));
  await created.create(user);
  await mkdir(join(created.workspacesDir, '.sandbox/slots'), { recursive: true });
  return created;
}

async function newWorkspace(name: string, content: string): Promise<void> {
  const { dir, tmpDir } = await workspaces.create(name);
  await writeFile(join(dir, 'file'), content);
  await writeFile(join(tmpDir, 'file'), content);
}

const exists = async (name: string) =>
  (await places.find(name, { dir: '/workspace', tmpDir: '/tmp' })) !== undefined;
const read = (name: string) => readFile(join(places.dirOf(name), 'file'), 'utf8');

test('a workspace and its temporary files are in one place at a time', async () => {
  await newWorkspace('t-a', 'mine');
  await places.putIn({ name: 't-a', note: KEPT }, { directory: container });
  expect(places.dirOf('t-a')).toBe(container.workspacePath('t-a'));
  expect(await read('t-a')).toBe('mine');
  expect(existsSync(workspaces.at('t-a').dir)).toBe(false);
  expect(await readdir(join(container.workspacesDir, '.sandbox/slots/t-a/tmp'))).toEqual(['file']);

  await places.takeOut({ name: 't-a', note: KEPT }, { directory: container });
  expect(places.dirOf('t-a')).toBe(workspaces.at('t-a').dir);
  expect(await read('t-a')).toBe('mine');
  expect(await readFile(join(workspaces.at('t-a').tmpDir, 'file'), 'utf8')).toBe('mine');
  expect((await container.notes()).size).toBe(0);
});

test('a workspace that the container created is taken out, too, and one without a trajectory is deleted', async () => {
  for (const [name, nobodys] of [
    ['t-new', false],
    ['t-slot', true],
  ] as const) {
    await places.putIn({ name, note: { nobodys, trustedState: true } }, { directory: container });
    await mkdir(container.workspacePath(name));
    await writeFile(join(container.workspacePath(name), 'file'), name);
    expect(await exists(name)).toBe(true);
  }
  await places.takeOutAll(container);
  expect(await read('t-new')).toBe('t-new');
  expect(await exists('t-slot')).toBe(false);
});

test.skipIf(!isRoot)(
  'a workspace that a local slot used in between, with its own user, belongs to the container again (needs root)',
  async () => {
    await newWorkspace('t-a', 'mine');
    await places.putIn({ name: 't-a', note: KEPT }, { directory: container });
    await places.takeOut({ name: 't-a', note: KEPT }, { directory: container });
    await new SlotUsers({ first: 2_000_000_000, last: 2_000_000_001 }).hold(workspaces.at('t-a'));
    await places.putIn({ name: 't-a', note: KEPT }, { directory: container });
    const inside = [container.workspacePath('t-a'), join(container.workspacesDir, '.sandbox/slots/t-a/tmp')];
    for (const dir of inside) expect((await stat(join(dir, 'file'))).uid).toBe(user.uid);
  },
);

test('a workspace without permissions moves, and is private again', async () => {
  await newWorkspace('t-a', 'mine');
  await chmod(workspaces.at('t-a').dir, 0);
  await places.putIn({ name: 't-a', note: KEPT }, { directory: container });
  await chmod(container.workspacePath('t-a'), 0);
  await places.takeOut({ name: 't-a', note: KEPT }, { directory: container });
  expect(await read('t-a')).toBe('mine');
});

test('after a crash at any step the notes show what has to be taken out', async () => {
  await newWorkspace('t-noted', 'never put in');
  await container.note('t-noted', KEPT);
  await newWorkspace('t-in', 'put in');
  await places.putIn({ name: 't-in', note: KEPT }, { directory: container });
  await newWorkspace('t-out', 'taken out');
  await container.note('t-out', KEPT);
  const restarted = new HostPlaces(workspaces, user);
  await restarted.takeOutAll(new ContainerDirectory(container.path));
  for (const [name, content] of [
    ['t-noted', 'never put in'],
    ['t-in', 'put in'],
    ['t-out', 'taken out'],
  ] as const) {
    expect(await readFile(join(restarted.dirOf(name), 'file'), 'utf8')).toBe(content);
  }
});

test('links and forgeries in the directory of a container lead nowhere', async () => {
  const outside = await mkdtemp(join(tmpdir(), 'talaria-outside-'));
  await mkdir(join(outside, 't-a'));
  await writeFile(join(outside, 't-a/file'), 'outside');
  for (const name of ['t-a', 't-b']) await places.putIn({ name, note: KEPT }, { directory: container });
  // One workspace is a link, where the states should be is another, and one was never put in.
  await symlink(join(outside, 't-a'), container.workspacePath('t-a'));
  await mkdir(container.workspacePath('t-b'));
  await rm(join(container.workspacesDir, '.sandbox'), { recursive: true });
  await symlink(outside, join(container.workspacesDir, '.sandbox'));
  await mkdir(container.workspacePath('t-forged'));

  await places.takeOutAll(container);
  expect(await exists('t-a')).toBe(false);
  expect(await exists('t-b')).toBe(true);
  expect(await exists('t-forged')).toBe(false);
  expect(await readdir(outside, { recursive: true })).toEqual(['t-a', 't-a/file']);
  await rm(outside, { recursive: true });
});

test('shell state that the container could have written itself is left behind, and its /tmp is not', async () => {
  await newWorkspace('t-a', 'mine');
  await places.putIn(
    { name: 't-a', note: { nobodys: false, trustedState: false } },
    { directory: container },
  );
  await writeFile(join(container.workspacesDir, '.sandbox/slots/t-a/shell-state'), 'forged');
  await places.takeOutAll(container);
  expect(await read('t-a')).toBe('mine');
  expect(await readdir(workspaces.at('t-a').stateDir, { recursive: true })).toEqual(['tmp', 'tmp/file']);
});

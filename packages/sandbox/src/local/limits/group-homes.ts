/**
 * The places in which the control groups of slots can be created: beside or below the group of this process.
 *
 * In version 1 below it, in each hierarchy with a wanted controller. In version 2 the controllers first have to be
 * enabled for its children, which the kernel refuses while the group has processes. So this process moves, with what it
 * has started, into a child that it creates for itself. If others remain in the group, it moves back, because we may
 * not move them.
 */
import { access, constants, mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { descendantsOf } from '../../host/process-table.ts';
import { isServerGroup, removeGroup, serverGroupName, sweepGroups } from './group-names.ts';
import { type Controller, findOwnGroups } from './own-groups.ts';

export interface GroupHome {
  version: 1 | 2;
  dir: string;
  controllers: Controller[];
}

export interface GroupHomes {
  homes: GroupHome[];
  /** Why a controller cannot be used, for those that cannot. */
  reasons: Map<Controller, string>;
}

const OWN_UNIT = 'give the server a group of its own, as a systemd unit with Delegate=yes does';

export async function openGroupHomes(wanted: readonly Controller[]): Promise<GroupHomes> {
  const homes: GroupHome[] = [];
  const reasons = new Map<Controller, string>();
  const { v1, v2 } = await findOwnGroups();
  for (const controller of wanted) {
    const dir = v1.get(controller);
    if (dir === undefined) continue;
    const reason = (await isWritable(dir))
      ? undefined
      : `the server may not make control groups in ${dir}, which under version 1 only root may`;
    const known = homes.find((home) => home.dir === dir);
    if (reason !== undefined) reasons.set(controller, reason);
    else if (known) known.controllers.push(controller);
    else homes.push({ version: 1, dir, controllers: [controller] });
  }
  const rest = wanted.filter((controller) => !v1.has(controller));
  if (rest.length > 0) {
    const opened = await openUnified(v2, rest);
    if (opened.home) homes.push(opened.home);
    for (const [controller, reason] of opened.reasons) reasons.set(controller, reason);
  }
  for (const { dir } of homes) await sweepGroups(dir);
  return { homes, reasons };
}

interface Unified {
  home?: GroupHome;
  reasons: Map<Controller, string>;
}

async function openUnified(own: string | undefined, wanted: readonly Controller[]): Promise<Unified> {
  const refused = (controllers: readonly Controller[], reason: string) =>
    new Map(controllers.map((controller) => [controller, reason]));
  if (own === undefined) {
    return { reasons: refused(wanted, 'the server sees no control group that it is in') };
  }
  // An earlier backend of this process, or the server that started this one, has already moved here.
  const dir = isServerGroup(basename(own)) ? dirname(own) : own;
  const offered = words(await readFile(join(dir, 'cgroup.controllers'), 'utf8').catch(() => ''));
  const controllers = wanted.filter((controller) => offered.includes(controller));
  const missing = wanted.filter((controller) => !offered.includes(controller));
  const reasons = refused(missing, `the controller is not delegated to the server's control group ${dir}`);
  if (controllers.length === 0) return { reasons };
  const reason = (await isWritable(dir))
    ? await switchOn(dir, controllers)
    : `the server may not make control groups in ${dir}; ${OWN_UNIT}`;
  if (reason === undefined) return { home: { version: 2, dir, controllers }, reasons };
  return { reasons: refused(wanted, reason) };
}

/** Returns the reason if it did not work. */
async function switchOn(dir: string, controllers: readonly Controller[]): Promise<string | undefined> {
  const control = join(dir, 'cgroup.subtree_control');
  const enabled = words(await readFile(control, 'utf8'));
  const missing = controllers.filter((controller) => !enabled.includes(controller));
  if (missing.length === 0) return undefined;
  const enable = () => writeFile(control, missing.map((controller) => `+${controller}`).join(' '));
  try {
    await enable();
    return undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') return (error as Error).message;
  }
  const own = join(dir, serverGroupName());
  try {
    await mkdir(own);
    await moveOurs(dir, own);
    await enable();
    return undefined;
  } catch (error) {
    await moveOurs(own, dir).catch(() => {});
    await removeGroup(own);
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'EBUSY'
      ? `other processes are in the server's control group ${dir}; ${OWN_UNIT}`
      : message;
  }
}

/** This process first: what it starts from then on begins in the other group. */
async function moveOurs(from: string, to: string): Promise<void> {
  const move = (pid: number) => writeFile(join(to, 'cgroup.procs'), String(pid));
  await move(process.pid);
  const members = words(await readFile(join(from, 'cgroup.procs'), 'utf8')).map(Number);
  const ours = descendantsOf([process.pid]);
  // A process that has ended meanwhile is in no group.
  for (const pid of members.filter((pid) => ours.has(pid))) await move(pid).catch(() => {});
}

async function isWritable(dir: string): Promise<boolean> {
  return access(dir, constants.W_OK).then(
    () => true,
    () => false,
  );
}

function words(text: string): string[] {
  return text.split(/\s+/).filter(Boolean);
}

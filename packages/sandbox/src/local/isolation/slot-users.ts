/**
 * The kernel users that slots run as, if the server may choose: it is root, of the machine or of a user namespace that
 * has more than one user. Two slots never have the same user at a time, so per-user data of the kernel (keyrings,
 * counts, file permissions) is not shared between them, nor with the server.
 *
 * A workspace belongs to the user of its slot. Only its owner is remembered: a workspace that is used again gets the
 * same user, or, if another slot has that user now, a new one, and changes its owner.
 *
 * A mounted directory keeps its owner. Its commands run as that owner, so that what they make belongs to the same user as
 * the rest, and the rest can be changed.
 */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { SandboxError } from '../../errors.ts';
import { giveTreeTo, type Owner } from '../../workspace/give-tree-to.ts';
import type { Workspace } from '../../workspace/workspaces.ts';

export interface UserRange {
  first: number;
  last: number;
}

/** `auto`: separate users if the server can; `shared`: the server's user; a range has to work or the start fails. */
export type WantedUsers = 'auto' | 'shared' | UserRange;

/** Unused by convention: above what container managers and directory services give out. */
const USUAL: UserRange = { first: 2_000_000_000, last: 2_000_065_535 };
/** In a namespace with fewer users: above those of the system and of people. */
const ABOVE_ACCOUNTS = 20_000;
/** Stands for every user without a number, so no slot may have it. */
const NOBODY = 65_534;
const FEWEST = 1_000;

type Prepare = (held: Workspace) => void;

/** All slots run as the server. */
export class SharedUser {
  readonly ownUsers = false;

  /** A workspace may come from an earlier start at which slots had users of their own. */
  async hold(workspace: Workspace, prepare: Prepare = () => {}): Promise<Workspace> {
    const { dir, tmpDir, isMounted } = workspace;
    const ours = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    if (isMounted) await this.mountedOwner(dir);
    else await giveTreeTo(dir, ours);
    await giveTreeTo(tmpDir, ours);
    prepare(workspace);
    return workspace;
  }

  async mountedOwner(dir: string): Promise<Owner> {
    const { uid, gid } = await lstat(dir);
    const user = process.getuid?.() ?? 0;
    if (uid === user) return { uid, gid };
    throw unmountable(
      dir,
      `it belongs to the user ${uid}, and commands run as the user ${user}: give it to that user`,
    );
  }

  release(): void {}
}

export class SlotUsers {
  readonly ownUsers = true;
  readonly #range: UserRange;
  readonly #taken = new Set<number>();
  #next: number;

  constructor(range: UserRange) {
    this.#range = range;
    // Not the first: kept workspaces have the users of an earlier start, and should keep them.
    this.#next = randomInt(range.first, range.last + 1);
  }

  /** Returns the workspace with its user, which no other slot has, after calling `prepare` with it. */
  async hold(workspace: Workspace, prepare: Prepare = () => {}): Promise<Workspace> {
    if (workspace.isMounted) return this.#holdMounted(workspace, prepare);
    const { uid: owner } = await lstat(workspace.dir);
    const user = this.#isFree(owner) ? owner : this.#findFree();
    this.#taken.add(user);
    try {
      const own = { uid: user, gid: user };
      await Promise.all([giveTreeTo(workspace.dir, own), giveTreeTo(workspace.tmpDir, own)]);
      const held = { ...workspace, user };
      prepare(held);
      return held;
    } catch (error) {
      this.#taken.delete(user);
      throw error;
    }
  }

  async mountedOwner(dir: string): Promise<Owner> {
    const { uid, gid } = await lstat(dir);
    if (uid === 0) {
      throw unmountable(
        dir,
        'it belongs to root, which commands never run as while slots have users of their own: give it to another user',
      );
    }
    if (!this.#isInRange(uid)) return { uid, gid };
    throw unmountable(dir, `it belongs to the user ${uid}, one of those of slots: give it to another user`);
  }

  /** Several slots may have the user of their directories. */
  async #holdMounted(workspace: Workspace, prepare: Prepare): Promise<Workspace> {
    const owner = await this.mountedOwner(workspace.dir);
    await giveTreeTo(workspace.tmpDir, owner);
    const held = { ...workspace, user: owner.uid, group: owner.gid };
    prepare(held);
    return held;
  }

  release({ user }: Workspace): void {
    if (user !== undefined) this.#taken.delete(user);
  }

  #findFree(): number {
    const { first, last } = this.#range;
    for (let tries = last - first; tries >= 0; tries--) {
      const user = this.#next;
      this.#next = user === last ? first : user + 1;
      if (this.#isFree(user)) return user;
    }
    throw new SandboxError(
      'slot_unavailable',
      `Every user from ${first} to ${last} has a slot already; give slots more users.`,
    );
  }

  #isFree(user: number): boolean {
    return this.#isInRange(user) && !this.#taken.has(user);
  }

  #isInRange(user: number): boolean {
    return user >= this.#range.first && user <= this.#range.last;
  }
}

function unmountable(dir: string, reason: string): SandboxError {
  return new SandboxError('invalid_request', `Commands cannot work in ${dir}: ${reason}.`);
}

/** The default range of users for slots, or why there is none. */
export function usualUsers(): UserRange | string {
  if (process.getuid?.() !== 0) return 'the server is not root, nor has it subordinate users';
  const maps = ['uid_map', 'gid_map'].map((name) => readFileSync(`/proc/self/${name}`, 'utf8'));
  return rangeWithin(maps) ?? 'the user namespace of the server has too few users';
}

/** A range that all of these maps in /proc contain. */
export function rangeWithin(maps: readonly string[]): UserRange | undefined {
  const [one = [], other = []] = maps.map(parseMap);
  const common = one.flatMap((left) =>
    other.map((right) => ({
      first: Math.max(left.first, right.first),
      last: Math.min(left.last, right.last),
    })),
  );
  if (common.some(({ first, last }) => first <= USUAL.first && last >= USUAL.last)) return USUAL;
  return common
    .map(({ first, last }) => ({ first: Math.max(first, ABOVE_ACCOUNTS), last: Math.min(last, NOBODY - 1) }))
    .find(({ first, last }) => last - first >= FEWEST);
}

function parseMap(map: string): UserRange[] {
  return [...map.matchAll(/^\s*(\d+)\s+\d+\s+(\d+)$/gm)].map(([, first, count]) => ({
    first: Number(first),
    last: Number(first) + Number(count) - 1,
  }));
}

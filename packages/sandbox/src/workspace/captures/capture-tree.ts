/**
 * Captures a tree, in comparison with the last capture of it. It blocks, so it runs in a thread of its own, and yields from
 * time to time so that this thread can do something else.
 */
import { closeSync, fstatSync, lstatSync, readlinkSync, type Stats } from 'node:fs';
import type { CaptureLimits, OmissionReason } from '../../captures.ts';
import { MAX_DEPTH } from '../artifacts/walk.ts';
import { CaptureInProgress, type CaptureResult, type Compared } from './capture-result.ts';
import { isAscii } from './captured-path.ts';
import {
  type CapturedTree,
  type FileNode,
  hasVersion,
  type LinkNode,
  type TreeNode,
  versionOf,
} from './captured-tree.ts';
import { DirectoryNames } from './directory-names.ts';
import { hashFile } from './hash-file.ts';
import { ignoreRules } from './ignore-rules.ts';
import { inside, isMissing, isPassing, openDirectory, openRoot } from './open-by-name.ts';

const LOOKS_PER_TURN = 256;
/** Less than what the kernel takes. */
const MAX_PATH_BYTES = 4000;

/** A directory whose entries are being looked at. */
interface Level extends Compared {
  descriptor: number;
  names: DirectoryNames;
}

interface Found {
  name: string;
  isDirectory: boolean;
  /** The node of the last capture, if nothing shows that the entry has changed since. */
  known?: TreeNode;
  stats?: Stats;
}

export interface TreeCaptureOptions {
  limits: CaptureLimits;
  contentBytes: number;
}

export function* captureTree(
  dir: string,
  before: CapturedTree | undefined,
  { limits, contentBytes }: TreeCaptureOptions,
): Generator<undefined, CaptureResult> {
  const { maxEntries = Number.POSITIVE_INFINITY, maxFileBytes = Number.POSITIVE_INFINITY } = limits;
  const isIgnored = ignoreRules(limits.ignore ?? []);
  const result = new CaptureInProgress({ isWhole: before === undefined, contentBytes });
  const levels: Level[] = [];
  try {
    const root = new Map<string, TreeNode>();
    push(levels, { descriptor: openRoot(dir), prefix: '', before: before?.root, now: root });
    let looks = 0;
    for (let top = levels.at(-1); top; top = levels.at(-1)) {
      const name = top.names.next();
      if (name === undefined) {
        result.compareNames(top);
        levels.pop();
        closeSync(top.descriptor);
        continue;
      }
      if (++looks % LOOKS_PER_TURN === 0) yield;
      const found = look(dir, top, name, result);
      if (found === undefined) continue;
      const path = top.prefix + name;
      if (isIgnored?.(path, found.isDirectory)) {
        result.omit(path, 'ignored');
      } else if (result.entries >= maxEntries) {
        result.omit(path, 'too_many');
        // The remaining names are not looked at, so they count as missing.
        for (const { names } of levels) names.close();
      } else if (found.isDirectory) {
        enter(levels, top, name, result);
      } else {
        // Most are unchanged: for those no generator is started.
        const node = known(found, maxFileBytes) ?? (yield* nodeOf(top, found, maxFileBytes, result));
        if (node !== undefined) result.add(top, name, node);
      }
    }
    return result.toCapture({ root, entries: result.entries });
  } finally {
    for (const { descriptor, names } of levels) {
      names.close();
      closeSync(descriptor);
    }
  }
}

/**
 * Looks first by the whole path, which takes half the time but may lead through a link that is swapped in. So that look only
 * shows whether something has changed; everything that is reported was opened step by step.
 */
function look(dir: string, top: Level, name: string, result: CaptureInProgress): Found | undefined {
  const before = top.before?.get(name);
  const glance = before && glanceAt(dir, top.prefix + name);
  if (before && glance) {
    if (before.type === 'directory') {
      if (glance.isDirectory()) return { name, isDirectory: true };
    } else if (hasVersion(before, glance) && isOfType(before, glance)) {
      return { name, isDirectory: false, known: before };
    }
  }
  try {
    const stats = lstatSync(inside(top.descriptor, name), { throwIfNoEntry: false });
    return stats && { name, isDirectory: stats.isDirectory(), stats };
  } catch (error) {
    if (!isPassing(error)) throw error;
    return result.omit(top.prefix + name, 'unreadable');
  }
}

function glanceAt(dir: string, path: string): Stats | undefined {
  const whole = `${dir}/${path}`;
  if (whole.length > MAX_PATH_BYTES) return undefined;
  try {
    return lstatSync(
      isAscii(path) ? whole : Buffer.concat([Buffer.from(`${dir}/`), Buffer.from(path, 'latin1')]),
      {
        throwIfNoEntry: false,
      },
    );
  } catch (error) {
    if (isPassing(error)) return undefined;
    throw error;
  }
}

function isOfType(node: FileNode | LinkNode, stats: Stats): boolean {
  return node.type === 'file' ? stats.isFile() : stats.isSymbolicLink();
}

function known({ known: node }: Found, maxFileBytes: number): TreeNode | undefined {
  return node?.type === 'file' && (!node.settled || node.size > maxFileBytes) ? undefined : node;
}

/** Undefined if the entry is not captured. */
function* nodeOf(
  top: Level,
  { name, stats: seen }: Found,
  maxFileBytes: number,
  result: CaptureInProgress,
): Generator<undefined, TreeNode | undefined> {
  const omit = (reason: OmissionReason) => result.omit(top.prefix + name, reason);
  try {
    const stats = seen ?? lstatSync(inside(top.descriptor, name));
    if (stats.isSymbolicLink()) return linkNode(top, name, stats);
    if (!stats.isFile()) return omit('special');
    if (stats.size > maxFileBytes) return omit('too_large');
    return (yield* fileNode(top, name, maxFileBytes, result)) ?? omit('unreadable');
  } catch (error) {
    if (!isPassing(error)) throw error;
    return isMissing(error) ? undefined : omit('unreadable');
  }
}

function linkNode({ descriptor }: Level, name: string, stats: Stats): LinkNode {
  const target = readlinkSync(inside(descriptor, name), 'latin1');
  return { type: 'symlink', mode: permissions(stats), target, ...versionOf(stats) };
}

function* fileNode(
  { descriptor, before }: Level,
  name: string,
  maxBytes: number,
  result: CaptureInProgress,
): Generator<undefined, FileNode | undefined> {
  const hashed = yield* hashFile(descriptor, name, { maxBytes, contentBytes: result.contentRoom });
  if (hashed === undefined) return undefined;
  const { sha256, settled, stats, content } = hashed;
  const earlier = before?.get(name);
  const isNew = earlier?.type !== 'file' || earlier.sha256 !== sha256;
  if (content !== undefined && isNew) result.addContent(sha256, content);
  return { type: 'file', mode: permissions(stats), sha256, settled, ...versionOf(stats) };
}

function enter(levels: Level[], top: Level, name: string, result: CaptureInProgress): void {
  const path = top.prefix + name;
  let descriptor: number;
  try {
    descriptor = openDirectory(top.descriptor, name);
  } catch (error) {
    if (!isPassing(error)) throw error;
    if (!isMissing(error)) result.omit(path, 'unreadable');
    return;
  }
  const stats = fstatSync(descriptor);
  const now = new Map<string, TreeNode>();
  result.add(top, name, {
    ...{ type: 'directory', mode: permissions(stats), modifiedMs: stats.mtimeMs, children: now },
  });
  const earlier = top.before?.get(name);
  const before = earlier?.type === 'directory' ? earlier.children : undefined;
  const level = { descriptor, prefix: `${path}/`, before, now };
  // If its content cannot be captured, the directory itself is still captured.
  const reason = levels.length > MAX_DEPTH ? 'too_deep' : push(levels, level, stats);
  if (reason === undefined) return;
  closeSync(descriptor);
  result.omit(path, reason);
  result.compareNames(level);
}

/** Says why its names cannot be read. The root must be readable. */
function push(levels: Level[], level: Omit<Level, 'names'>, stats?: Stats): OmissionReason | undefined {
  try {
    levels.push({ ...level, names: new DirectoryNames(level.descriptor, stats) });
    return undefined;
  } catch (error) {
    if (stats && isPassing(error)) return 'unreadable';
    closeSync(level.descriptor);
    throw error;
  }
}

function permissions({ mode }: Stats): number {
  return mode & 0o777;
}

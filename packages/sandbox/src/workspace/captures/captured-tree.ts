/** The data that one capture remembers for the next. */
import type { Stats } from 'node:fs';
import type { CapturedEntry } from '../../captures.ts';
import { toCapturedPath, toTarget } from './captured-path.ts';

/** The state by which an unchanged entry is recognized. */
export interface Version {
  ino: number;
  size: number;
  modifiedMs: number;
  /** When the kernel last changed anything about it. */
  changedMs: number;
}

export interface FileNode extends Version {
  type: 'file';
  mode: number;
  sha256: string;
  /** Whether a later change shows in the version: its content was read after the clock had advanced. */
  settled: boolean;
}

export interface LinkNode extends Version {
  type: 'symlink';
  mode: number;
  target: string;
}

export interface DirectoryNode {
  type: 'directory';
  mode: number;
  modifiedMs: number;
  children: Map<string, TreeNode>;
}

export type TreeNode = FileNode | LinkNode | DirectoryNode;

export interface CapturedTree {
  root: Map<string, TreeNode>;
  entries: number;
}

export function versionOf({ ino, size, mtimeMs, ctimeMs }: Stats): Version {
  return { ino, size, modifiedMs: mtimeMs, changedMs: ctimeMs };
}

export function hasVersion(node: Version, { ino, size, mtimeMs, ctimeMs }: Stats): boolean {
  return node.ino === ino && node.size === size && node.modifiedMs === mtimeMs && node.changedMs === ctimeMs;
}

/** Whether a caller that knows `other` need not get `node`. */
export function looksLike(node: TreeNode, other: TreeNode | undefined): boolean {
  if (node.mode !== other?.mode || node.modifiedMs !== other.modifiedMs) return false;
  switch (node.type) {
    case 'file':
      return other.type === 'file' && node.sha256 === other.sha256;
    case 'symlink':
      return other.type === 'symlink' && node.target === other.target;
    case 'directory':
      return other.type === 'directory';
  }
}

export function toEntry(path: string, node: TreeNode): CapturedEntry {
  const entry = { ...toCapturedPath(path), type: node.type, mode: node.mode, modified_ms: node.modifiedMs };
  switch (node.type) {
    case 'file':
      return { ...entry, size: node.size, sha256: node.sha256 };
    case 'symlink':
      return { ...entry, size: node.target.length, ...toTarget(node.target) };
    case 'directory':
      return { ...entry, size: 0 };
  }
}

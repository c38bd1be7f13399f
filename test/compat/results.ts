/**
 * The results of the tests, for the tables of docs/clients.md: one file for each client and each server, written when
 * all of its tests have run. They are in a cache; only the tables made from them are committed.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ClientId } from './features.ts';

const DIRECTORY = fileURLToPath(new URL('../../node_modules/.cache/compat', import.meta.url));

export interface ClientName {
  id: ClientId;
  /** Its name where it is published. */
  name: string;
  version: string;
}

export interface ClientResult extends ClientName {
  shown: { capability: string; ok: boolean }[];
}

export interface ServerResult {
  name: string;
  version: string;
  topics: TopicResult[];
}

export interface TopicResult {
  topic: string;
  passed: number;
  failed: number;
  skipped: number;
}

export function writeClient(result: ClientResult): void {
  write(`client ${result.id}`, result);
}

export function writeServer(result: ServerResult): void {
  write(`server ${result.name}`, result);
}

export function readClients(): ClientResult[] {
  return read<ClientResult>('client ');
}

export function readServers(): ServerResult[] {
  return read<ServerResult>('server ');
}

function write(name: string, value: unknown): void {
  mkdirSync(DIRECTORY, { recursive: true });
  const file = `${name.replaceAll('/', '_')}.json`;
  writeFileSync(join(DIRECTORY, file), `${JSON.stringify(value, undefined, 2)}\n`);
}

function read<T>(prefix: string): T[] {
  mkdirSync(DIRECTORY, { recursive: true });
  return readdirSync(DIRECTORY)
    .filter((file) => file.startsWith(prefix))
    .sort()
    .map((file) => JSON.parse(readFileSync(join(DIRECTORY, file), 'utf8')) as T);
}

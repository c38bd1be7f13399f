/** The contract of every tool that takes a path: it stays in the workspace, even while commands swap what is at the path. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ExecutionResult } from '../backend.ts';
import type { ContractTools } from '../testing/contract-tools.ts';

type PathCall = (path: string) => Promise<ExecutionResult>;

/** Text that only a file of the host contains. */
const HOST_TEXT = 'only the host has this';

export function describePaths({ call, bash, backend, when, race }: ContractTools): void {
  const patch = (...lines: string[]) =>
    call('patch', { patch: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n') });

  const reads: [string, PathCall][] = [
    ['read_file', (path) => call('read_file', { path })],
    ['search_files', (path) => call('search_files', { pattern: '.', path })],
    ['search_files for names', (path) => call('search_files', { target: 'files', pattern: '*', path })],
  ];
  const writes: [string, PathCall][] = [
    ['write_file', (path) => call('write_file', { path, content: 'escaped\n' })],
    ['patch that replaces', (path) => call('patch', { path, old_string: 'mine', new_string: 'escaped' })],
    ['patch that updates', (path) => patch(`*** Update File: ${path}`, '-mine', '+escaped')],
    ['patch that adds', (path) => patch(`*** Add File: ${path}`, '+escaped')],
    ['patch that deletes', (path) => patch(`*** Delete File: ${path}`)],
    [
      'patch that moves',
      (path) => patch('*** Update File: own', `*** Move to: ${path}`, '-mine', '+escaped'),
    ],
  ];
  const calls = [...reads, ...writes];

  describe('paths', when('paths'), () => {
    test('every tool refuses an invalid path and one that leads out of the workspace', async () => {
      await bash('echo mine > own');
      const all: typeof calls = [
        ...calls,
        ['bash', (workdir) => bash('echo ran', { workdir })],
        ['bash in the background', (workdir) => bash('echo ran', { workdir, background: true })],
        ['stateful bash', (workdir) => bash('echo ran', { workdir, stateful: true })],
      ];
      const absolute = ['/etc/passwd', '/', '/proc/self/environ'];
      for (const path of ['../escape', 'a/../../escape', '..', 'x/../..', 'a\0b', ...absolute]) {
        for (const [name, make] of all) {
          const result = await make(path);
          expect(result, `${name} ${path}`).toMatchObject({ success: false, output: '' });
          expect(result.metadata.failure, `${name} ${path}`).toBe('invalid_request');
        }
      }
      expect((await bash('ls -A; cat own')).output).toBe('own\nmine\n');
    });

    test('a directory is not a file for any tool', async () => {
      await bash('echo mine > own; mkdir d');
      for (const path of ['', '.', 'd']) {
        for (const [name, make] of calls.filter(([name]) => !name.startsWith('search_files'))) {
          expect(await make(path), `${name} ${path}`).toMatchObject({ success: false, output: '' });
        }
      }
      expect((await bash('ls -A; cat own')).output).toBe('d\nown\nmine\n');
    });

    /** `prepare` makes the thing with a command; `path` leads to it. */
    const hostile: [what: string, prepare: string, path: string][] = [
      ['a link to a file outside', 'ln -s /etc/passwd outside', 'outside'],
      ['a path through a link to a directory outside', 'ln -s /etc etc', 'etc/passwd'],
      ['a new file behind a link to a directory outside', 'ln -s /tmp tmp', 'tmp/talaria-escaped'],
      ['a path through a link that climbs out', 'ln -s ../.. up', 'up/etc/passwd'],
      ['a path through a link further down', 'mkdir d; ln -s /etc d/etc', 'd/etc/passwd'],
      ['a dangling link', 'ln -s /tmp/talaria-escaped dangling', 'dangling'],
      ['a link to itself', 'ln -s itself itself', 'itself'],
      ['a link to a device', 'ln -s /dev/zero zero', 'zero'],
      ['a link into /proc', 'ln -s /proc/self/environ proc', 'proc'],
      ['a FIFO', 'mkfifo fifo', 'fifo'],
      ['a path through a file', 'echo mine > file', 'file/x'],
      // The last two need perl, and root without isolation; elsewhere others stand in for them.
      [
        'a socket',
        `LC_ALL=C perl -e 'socket(S, 1, 1, 0) && bind(S, pack("Sa*", 1, "socket")) or die $!' || mkfifo socket`,
        'socket',
      ],
      ['a device', 'mknod device c 1 5 2>/dev/null || ln -s /dev/zero device', 'device'],
    ];
    test('links that lead elsewhere, FIFOs, sockets and devices are neither read nor changed by any tool', async () => {
      expect(
        (await bash(['set -e; echo mine > own', ...hostile.map(([, prepare]) => prepare)].join('\n')))
          .success,
      ).toBe(true);
      const look = 'ls -lAR --time-style=+ . "$TMPDIR"; cat own; ls -d /tmp/talaria-escaped';
      const before = (await bash(look)).output;
      for (const [what, , path] of hostile) {
        for (const [name, make] of calls) {
          const result = await make(path);
          expect(result, `${name}: ${what}`).toMatchObject({ success: false, output: '' });
          expect(result.error, `${name}: ${what}`).not.toBe('');
          expect(result.metadata.failure, `${name}: ${what}`).not.toBe('backend_down');
        }
      }
      expect((await bash(look)).output).toBe(before);
    });

    const swaps: [files: string, path: string, swap: (outside: string) => string][] = [
      [
        'a file and a link to one of the host',
        'target',
        (outside) =>
          `while :; do echo mine > new; mv -T new target; ln -s ${outside}/file l; mv -T l target; done`,
      ],
      [
        'a directory and a link to one of the host',
        'target/file',
        (outside) =>
          `mkdir real; while :; do mkdir -p real; echo mine > real/file; mv -T real target; mv -T target real; ln -s ${outside} target; rm target; done`,
      ],
    ];
    for (const [files, path, swap] of swaps)
      race(`${files} that take turns lead no tool outside`, async (racing) => {
        const outside = mkdtempSync(join(tmpdir(), 'talaria-outside-'));
        try {
          writeFileSync(join(outside, 'file'), `mine\n${HOST_TEXT}\n`);
          racing.against(swap(outside));
          // Without isolation, a search is a command like the one that swaps, and may follow its link.
          const isolated = backend().stats().isolation.kind !== 'none';
          const raced = calls.filter(([name]) => isolated || !name.startsWith('search_files'));
          const succeeded = new Set<string>();
          // Otherwise the tools never found the file at its path, and the test showed nothing.
          const isShown = () => ['read_file', 'write_file'].every((name) => succeeded.has(name));
          while (racing.lasts(isShown)) {
            await bash('echo mine > own');
            for (const [name, make] of raced) {
              const result = await make(path);
              expect(result.output, name).not.toContain(HOST_TEXT);
              if (result.success) succeeded.add(name);
            }
          }
          await racing.end();
          expect(readdirSync(outside)).toEqual(['file']);
          expect(readFileSync(join(outside, 'file'), 'utf8')).toBe(`mine\n${HOST_TEXT}\n`);
          expect(isShown()).toBe(true);
        } finally {
          rmSync(outside, { recursive: true });
        }
      });
  });
}

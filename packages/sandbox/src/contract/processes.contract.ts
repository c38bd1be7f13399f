/** The contract of background processes: `bash` with `background`, and `process`. */
import { describe, expect, test } from 'vitest';
import type { ExecutionResult, ProcessDescription, ProcessStatus } from '../backend.ts';
import type { ContractTools } from '../testing/contract-tools.ts';

const MAX_RUNNING = 32;

/** Serves one word to everybody, at a port that it prints. */
const SERVER = `exec python3 -uc '
import socket
server = socket.create_server(("127.0.0.1", 0))
print("port", server.getsockname()[1])
while True:
    connection = server.accept()[0]
    connection.sendall(b"served\\n")
    connection.close()
'`;

export function describeProcesses({
  call,
  bash,
  slot,
  backend,
  acquireAgain,
  restart,
  when,
  ownKernel,
}: ContractTools): void {
  const start = (command: string, more: Record<string, unknown> = {}) =>
    bash(command, { background: true, ...more });
  const act = (action: string, id: string, more: Record<string, unknown> = {}) =>
    call('process', { action, id, ...more });

  async function started(command: string, more: Record<string, unknown> = {}): Promise<string> {
    const result = await start(command, more);
    expect(result).toMatchObject({ success: true, error: '' });
    return processOf(result).id;
  }

  /** The output of a call and of polls after it until this text has come. */
  async function collect(first: ExecutionResult, wanted: string): Promise<string> {
    const { id } = processOf(first);
    let seen = newOutput(first);
    const poll = async () => {
      if (!seen.includes(wanted)) seen += newOutput(await act('poll', id));
      return seen;
    };
    await expect.poll(poll).toContain(wanted);
    return seen;
  }

  async function expectStatus(id: string, status: ProcessStatus): Promise<ProcessDescription> {
    let process: ProcessDescription | undefined;
    const poll = async () => {
      process = processOf(await act('poll', id));
      return process.status;
    };
    await expect.poll(poll).toBe(status);
    return process as ProcessDescription;
  }

  /** Whatever writes this file shows that it is alive. Each turn starts a process, so there are few of them. */
  const beat = (file: string) => `while :; do echo x >> ${file}; sleep 0.05; done`;

  /** One command waits for all of the files to grow. It times out if one of them never does. */
  async function expectAlive(...files: string[]): Promise<void> {
    const grown = files.map(
      (file) =>
        `a=$(cat ${file} 2>/dev/null); until [ "$a" != "$(cat ${file} 2>/dev/null)" ]; do sleep 0.05; done`,
    );
    expect(await bash(grown.join('; '), { timeout: 60 })).toMatchObject({ success: true, error: '' });
  }

  async function expectDead(...files: string[]): Promise<void> {
    const look = `wc -c ${files.join(' ')}`;
    const result = await bash(`a=$(${look}) && sleep 0.3 && [ "$a" = "$(${look})" ]`);
    expect(result).toMatchObject({ success: true, error: '' });
  }

  describe('background processes', when('background processes'), () => {
    test('starting returns an id while the process keeps running', async () => {
      const result = await start(beat('beat'));
      expect(processOf(result)).toMatchObject({ id: expect.stringMatching(/^proc_\w+$/), status: 'running' });
      expect(result.output).toContain(processOf(result).id);
      expect(result.output).toContain(processOf(result).log_path as string);
      expect(result.metadata.exit_code).toBeUndefined();
      await expectAlive('beat');
      expect(slot().state).toBe('acquired');
    });

    test('an immediate failure is in the first answer', async () => {
      let result: ExecutionResult | undefined;
      // On a busy machine it may not come in time; then the next answer has it.
      const tryAgain = async () => {
        result = await start('echo to stdout; no_such_command; exit 3');
        return processOf(result).status;
      };
      await expect.poll(tryAgain).toBe('exited');
      expect(result).toMatchObject({ success: true, metadata: { process: { exit_code: 3 } } });
      expect(result?.output).toContain('to stdout\n');
      expect(result?.output).toContain('no_such_command');
    });

    test('poll returns new output, once', async () => {
      const first = await start('echo one; until [ -e go ]; do sleep 0.05; done; echo two; exec sleep 60');
      const { id } = processOf(first);
      expect(await collect(first, 'one\n')).toBe('one\n');
      const nothing = await act('poll', id);
      expect(nothing.output).toContain('[no new output]');
      await bash('touch go');
      expect(await collect(nothing, 'two\n')).toBe('two\n');
      expect((await act('poll', id)).output).toContain('[no new output]');
    });

    test('poll never cuts a character, and says what it left out', async () => {
      const id = await started(
        `printf 'start\\n'; until [ -e go ]; do sleep 0.05; done; printf '\\346\\227'; sleep 0.3; printf '\\245'; yes '日本🙂' | head -n 60000 | tr -d '\\n'; echo; echo end; sleep 60`,
      );
      await bash('touch go');
      let last: ExecutionResult | undefined;
      let all = '';
      const poll = async () => {
        last = await act('poll', id);
        if (last.metadata.truncated) expect(last.output).toMatch(/\[\d+ bytes came before this/);
        all += newOutput(last);
        return all;
      };
      await expect.poll(poll).toContain('end\n');
      expect(all).not.toContain('\ufffd');
      expect(processOf(last as ExecutionResult).output_bytes).toBe(6 + 3 + 600_000 + 5);
      const flood = await started('until [ -e go2 ]; do sleep 0.05; done; seq 1 200000');
      await bash('touch go2');
      const end = await act('wait', flood);
      expect(end.metadata).toMatchObject({ truncated: true, total_bytes: 1_288_895 });
      expect(end.output.length).toBeLessThan(60_000);
      expect(end.output.endsWith('199999\n200000\n')).toBe(true);
      expect((await bash(`cksum < '${processOf(end).log_path}'`)).output).toBe(
        (await bash('seq 1 200000 | cksum')).output,
      );
    });

    test('wait returns when the process ends, or at its own timeout', async () => {
      const id = await started('until [ -e go ]; do sleep 0.05; done; echo done; exit 4');
      const early = await act('wait', id, { timeout: 0.2 });
      expect(early).toMatchObject({ success: true, metadata: { timed_out: false } });
      expect(processOf(early).status).toBe('running');
      const waiting = act('wait', id);
      await bash('touch go');
      const end = await waiting;
      expect(processOf(end)).toMatchObject({ status: 'exited', exit_code: 4 });
      expect(end.success).toBe(true);
      expect(end.output).toContain('code 4');
      expect(newOutput(end)).toBe('done\n');
      expect(processOf(await act('wait', id)).status).toBe('exited');
    });

    test('aborting a wait does not affect the process', async () => {
      const id = await started(beat('beat'));
      const controller = new AbortController();
      const waiting = call('process', { action: 'wait', id }, { signal: controller.signal });
      await expect.poll(() => slot().state).toBe('executing');
      controller.abort();
      expect(await waiting).toMatchObject({ success: false, metadata: { failure: 'aborted' } });
      await expectAlive('beat');
      const limited = await call('process', { action: 'wait', id, timeout: 60 }, { timeoutS: 0.2 });
      expect(processOf(limited).status).toBe('running');
    });

    test('the batch that started a process can end and be aborted without ending it', async () => {
      const controller = new AbortController();
      await bash(beat('beat'), { background: true }, { signal: controller.signal, timeoutS: 1 });
      controller.abort();
      await expectAlive('beat');
    });

    test('log reads the whole output by lines, and by default its end', async () => {
      const id = await started('seq 1 1000');
      await expectStatus(id, 'exited');
      const part = await act('log', id, { offset: 10, limit: 3 });
      expect(part.output).toContain('\n10\n11\n12\n[lines 10 to 12 of 1000;');
      expect(part.metadata.truncated).toBe(true);
      expect((await act('log', id, { limit: 2 })).output).toContain(
        '\n999\n1000\n[lines 999 to 1000 of 1000;',
      );
      const all = await act('log', id, { offset: 1, limit: 2000 });
      expect(all.metadata.truncated).toBe(false);
      expect(all.output).toContain('\n1\n2\n3\n');
      expect((await act('log', id, { offset: 2000 })).output).toContain('no line from 2000 on');
      expect(
        await call('read_file', { path: processOf(part).log_path, offset: 500, limit: 1 }),
      ).toMatchObject({
        success: true,
        output: expect.stringMatching(/^500\n/),
      });
    });

    test('write reaches the standard input, which is a pipe, and comes back with the answer', async () => {
      const id = await started('while read -r line; do echo "got [$line]"; done; echo over');
      const write = async (args: Record<string, unknown>, answer: string) => {
        const written = await act('write', id, args);
        expect(written).toMatchObject({ success: true, error: '' });
        expect(await collect(written, answer)).toBe(answer);
      };
      await write({ data: 'first', enter: true }, 'got [first]\n');
      await write({ data: "it's ünï\nhalf" }, "got [it's ünï]\n");
      await write({ enter: true }, 'got [half]\n');
      await write({ data: 'last\n', eof: true }, 'got [last]\nover\n');
      expect(processOf(await act('wait', id))).toMatchObject({ status: 'exited', exit_code: 0 });
      expect(await act('write', id, { data: 'x' })).toMatchObject({ success: false, output: '' });
      const reopened = await started('cat /dev/stdin > copy; test -p /dev/stdin');
      await act('write', reopened, { data: 'through /dev/stdin', eof: true });
      expect(processOf(await act('wait', reopened))).toMatchObject({ exit_code: 0 });
      expect((await bash('cat copy')).output).toBe('through /dev/stdin');
    });

    test('a process that does not read blocks nobody, and the answer says so', async () => {
      const id = await started('until [ -e go ]; do sleep 0.05; done; wc -c');
      const full = await act('write', id, { data: 'x'.repeat(300_000) });
      expect(full.success).toBe(true);
      expect(full.output).toContain('not read all of it yet');
      expect(await act('write', id, { data: 'y' })).toMatchObject({ success: false, output: '' });
      await bash('touch go');
      const writeMore = async () => (await act('write', id, { data: 'z', eof: true })).success;
      await expect.poll(writeMore).toBe(true);
      const end = await act('wait', id);
      expect((await act('log', id)).output).toContain('\n300001\n');
      expect(processOf(end).status).toBe('exited');
      const closed = await started('exec <&-; echo closed; sleep 60');
      expect((await act('write', closed, { data: 'x' })).metadata.failure).toBeUndefined();
    });

    test('kill first asks, and then leaves nothing alive', async () => {
      const polite = await started('trap "echo bye; exit 5" TERM; echo up; while :; do sleep 0.05; done');
      await pollUntilOutput(polite, 'up');
      const asked = await act('kill', polite);
      expect(processOf(asked)).toMatchObject({ status: 'killed', exit_code: 5 });
      expect(newOutput(asked)).toContain('bye\n');
      const stubborn = `trap "" TERM INT HUP; setsid bash -c 'trap "" TERM; ${beat('beat')}' & ${beat('other')}`;
      const id = await started(stubborn);
      await expectAlive('beat', 'other');
      expect(processOf(await act('kill', id, { signal: 'KILL' })).status).toBe('killed');
      await expectDead('beat', 'other');
      expect(processOf(await act('kill', id)).status).toBe('killed');
    });

    test('INT interrupts a program as a terminal does', async () => {
      const id = await started('trap "echo interrupted; exit 6" INT; echo up; while :; do sleep 0.05; done');
      await pollUntilOutput(id, 'up');
      const killed = await act('kill', id, { signal: 'INT' });
      expect(processOf(killed)).toMatchObject({ status: 'killed', exit_code: 6 });
      expect(newOutput(killed)).toContain('interrupted\n');
    });

    test('a process that ends leaves nothing that it started', async () => {
      const id = await started(`setsid bash -c '${beat('beat')}' & until [ -s beat ]; do sleep 0.05; done`);
      await expectStatus(id, 'exited');
      await expectDead('beat');
    });

    test('its own timeout ends it, and no other', async () => {
      const id = await started(`${beat('beat')}`, { timeout: 1 });
      const end = await act('wait', id);
      expect(processOf(end).status).toBe('timed_out');
      expect(end.output).toContain('its timeout');
      await expectDead('beat');
    });

    test('list shows all processes, in the order of their starts', async () => {
      expect(await call('process', { action: 'list' })).toMatchObject({
        success: true,
        output: 'There are no background processes.',
        metadata: { processes: [] },
      });
      const one = await started('exit 7');
      await expectStatus(one, 'exited');
      const two = await started(`sleep 60 # ${'long '.repeat(500)}`);
      const { output, metadata } = await call('process', { action: 'list' });
      expect(metadata.processes).toMatchObject([
        { id: one, status: 'exited', exit_code: 7, command: 'exit 7', output_bytes: 0 },
        { id: two, status: 'running' },
      ]);
      expect(metadata.processes?.[1]?.command.length).toBeLessThan(1000);
      expect(Date.parse(metadata.processes?.[1]?.started_at as string)).toBeLessThanOrEqual(Date.now());
      expect(output.split('\n')).toHaveLength(2);
      expect(output).toContain(one);
    });

    test('an unknown process is answered with the known ones', async () => {
      const id = await started('sleep 60');
      for (const action of ['poll', 'log', 'wait', 'kill']) {
        const result = await act(action, 'proc_other');
        expect(result).toMatchObject({ success: false, output: '' });
        expect(result.error).toContain(id);
        expect(result.error).toContain('restart');
      }
    });

    test('a slot has its own processes', async () => {
      const other = await backend().acquire();
      const id = await started('sleep 60');
      expect((await call('process', { action: 'poll', id }, {}, other)).success).toBe(false);
      expect((await call('process', { action: 'list' }, {}, other)).metadata.processes).toEqual([]);
      await backend().release(other);
    });

    test(`${MAX_RUNNING} run at the same time, and no more`, async () => {
      const batch = Array.from(
        { length: MAX_RUNNING + 3 },
        () => [slot(), 'bash', { command: 'exec sleep 60', background: true }] as const,
      );
      const results = await backend().executeBatch(batch);
      const refused = results.filter(({ success }) => !success);
      expect(refused).toHaveLength(3);
      expect(refused[0]?.error).toContain(String(MAX_RUNNING));
      const id = processOf(results.find(({ success }) => success) as ExecutionResult).id;
      await act('kill', id, { signal: 'KILL' });
      expect((await start('exec sleep 60')).success).toBe(true);
    });

    test('many that ended are forgotten, the oldest first', async () => {
      const ids: string[] = [];
      for (const length of [MAX_RUNNING, MAX_RUNNING, 8]) {
        const batch = Array.from(
          { length },
          () => [slot(), 'bash', { command: 'exit 0', background: true }] as const,
        );
        for (const result of await backend().executeBatch(batch)) ids.push(processOf(result).id);
        for (const id of ids.slice(-length)) expect(processOf(await act('wait', id)).status).toBe('exited');
      }
      const last = await started('exit 0');
      const { processes = [] } = (await call('process', { action: 'list' })).metadata;
      expect(processes.length).toBeLessThan(ids.length);
      expect(processes.map(({ id }) => id)).toContain(last);
      expect(processes.map(({ id }) => id)).toContain(ids.at(-1));
    });

    test('a process starts from the state of the last stateful command, and leaves none', async () => {
      await bash('cd /usr; export A=1', { stateful: true });
      const first = bash('until [ -e go ]; do sleep 0.05; done; export A=2', {
        stateful: true,
        workdir: '.',
      });
      const result = start('echo "$PWD $A"; cd /; export A=3', { stateful: true });
      await bash('touch go');
      await first;
      const id = processOf(await result).id;
      await expectStatus(id, 'exited');
      expect((await act('log', id)).output).toContain(`\n${slot().workspaceDir} 2\n`);
      expect((await bash('echo "$PWD $A"', { stateful: true })).output).toBe(`${slot().workspaceDir} 2\n`);
      const plain = await started('echo "[$A]"');
      await expectStatus(plain, 'exited');
      expect((await act('log', plain)).output).toContain('\n[]\n');
    });

    test('workdir and env apply to it', async () => {
      await bash('mkdir d');
      const id = await started('echo "$PWD $A"', { workdir: 'd', env: { A: 'b c' } });
      await expectStatus(id, 'exited');
      expect((await act('log', id)).output).toContain(`\n${slot().workspaceDir}/d b c\n`);
    });

    test("later commands of a slot reach a process's port, and no others do", async ({ skip }) => {
      if (!(await bash('command -v python3')).success)
        skip('there is no python3 in the sandbox to serve a port');
      const result = await start(SERVER);
      const apart = /other commands cannot reach its ports: .*(?=\])/.exec(result.output)?.[0];
      if (apart !== undefined) skip(apart);
      const port = await portOf(processOf(result).id);
      const ask = `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3`;
      expect(await bash(ask)).toMatchObject({ success: true, output: 'served\n' });
      expect(await bash(ask, { stateful: true })).toMatchObject({ success: true, output: 'served\n' });
      const client = await started(ask);
      await expectStatus(client, 'exited');
      expect((await act('log', client)).output).toContain('\nserved\n');
      if (backend().stats().isolation.kind === 'none') return;
      const other = await backend().acquire();
      for (const before of ['', 'sleep 60']) {
        if (before) await call('bash', { command: before, background: true }, {}, other);
        expect((await call('bash', { command: ask }, {}, other)).success).toBe(false);
      }
      await backend().release(other);
      await act('kill', processOf(result).id);
      expect((await bash(ask)).success).toBe(false);
      await acquireAgain();
      expect((await bash(ask)).success).toBe(false);
    });

    test('later commands are in the network of a process, and those of other slots are not', async ({
      skip,
    }) => {
      skip(ownKernel, 'every kernel counts its networks from the same number');
      const look = 'readlink /proc/self/ns/net';
      const result = await start(look);
      const apart = /other commands cannot reach its ports: .*(?=\])/.exec(result.output)?.[0];
      if (apart !== undefined) skip(apart);
      const network = (await collect(result, ']\n')).trim();
      expect(network).toMatch(/^net:\[\d+\]$/);
      const other = await backend().acquire();
      const results = await backend().executeBatch([
        [slot(), 'bash', { command: look }],
        [slot(), 'bash', { command: look, stateful: true }],
        [other, 'bash', { command: look }],
      ]);
      await backend().release(other);
      const isolated = backend().stats().isolation.kind !== 'none';
      expect(results.map(({ output }) => output.trim() === network)).toEqual([true, true, !isolated]);
    });

    test('processes end with the release of their slot, and the next holder sees none of them', async () => {
      const id = await started(`setsid bash -c '${beat('beat')}' & ${beat('other')}`);
      await expectAlive('beat', 'other');
      await acquireAgain();
      await expectDead('beat', 'other');
      const result = await act('poll', id);
      expect(result).toMatchObject({ success: false });
      expect(result.error).toContain('There is none');
    });

    test('processes end with the backend', async () => {
      const id = await started(beat('beat'));
      await expectAlive('beat');
      await restart();
      await expectDead('beat');
      expect((await act('poll', id)).error).toContain('restart');
    });

    test.each([
      [{}, 'action'],
      [{ action: 'start' }, 'one of list, poll, log, wait, write, kill'],
      [{ action: 'poll' }, 'id'],
      [{ action: 'poll', id: 5 }, 'id'],
      [{ action: 'list', id: 'x' }, 'leave id out'],
      [{ action: 'poll', id: 'x', data: 'y' }, 'leave data out'],
      [{ action: 'poll', id: 'x', command: 'y' }, 'command'],
    ])('%j is an invalid request that names %s', async (args, named) => {
      const result = await call('process', args);
      expect(result).toMatchObject({ success: false, output: '', metadata: { failure: 'invalid_request' } });
      expect(result.error).toContain(named);
    });

    test('arguments of an action are checked', async () => {
      const id = await started('sleep 60');
      for (const [args, named] of [
        [{ action: 'wait', timeout: 0 }, 'timeout'],
        [{ action: 'log', limit: 1.5 }, 'limit'],
        [{ action: 'log', offset: 0 }, 'offset'],
        [{ action: 'write' }, 'data'],
        [{ action: 'write', data: 5 }, 'data'],
        [{ action: 'write', data: 'x'.repeat(1024 * 1024 + 1) }, 'data'],
        [{ action: 'kill', signal: 'STOP' }, 'signal'],
      ] as const) {
        const result = await call('process', { id, ...args });
        expect(result).toMatchObject({ success: false, metadata: { failure: 'invalid_request' } });
        expect(result.error).toContain(named);
      }
      expect((await start('echo ran', { background: 'yes' })).metadata.failure).toBe('invalid_request');
    });

    async function portOf(id: string): Promise<string> {
      let port: string | undefined;
      const look = async () => {
        port = /^port (\d+)$/m.exec((await act('log', id)).output)?.[1];
        return port;
      };
      await expect.poll(look).toBeDefined();
      return port as string;
    }

    /** Its output may already be in the first answer. */
    async function pollUntilOutput(id: string, wanted: string): Promise<void> {
      await expect.poll(async () => (await act('log', id)).output).toContain(wanted);
    }
  });
}

function processOf({ metadata, error }: ExecutionResult): ProcessDescription {
  expect(error).toBe('');
  expect(metadata.process).toBeDefined();
  return metadata.process as ProcessDescription;
}

/** The output after the status line and the notes in brackets. */
function newOutput({ output }: ExecutionResult): string {
  const lines = output.split('\n').slice(1);
  while (/^\[(\d+ bytes came|all of its|it has not read|no new output)/.test(lines[0] ?? '')) lines.shift();
  return lines.join('\n');
}

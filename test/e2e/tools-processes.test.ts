/** Background and stateful commands, as a model uses them over several steps of a run. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { call, inTurn, play, toldOf } from './played-run.ts';
import {
  endsAs,
  markedSleep,
  names,
  ofKind,
  processesWith,
  ServerWithModel,
  terminal,
  waitForApproval,
} from './server-with-model.ts';

let world: ServerWithModel;
beforeAll(async () => {
  world = await ServerWithModel.start();
});
afterAll(() => world[Symbol.asyncDispose]());

/** The process that was started last. */
const ID = '{{found proc_[0-9a-f]+}}';
const process = (action: string, args: Record<string, unknown> = {}) =>
  call('process', { action, id: ID, ...args });
const background = (command: string) => terminal(command, { background: true });

/** Prints its port, serves a word on it, and prints what it reads. */
const SERVER = `import socket, sys, threading
server = socket.create_server(("127.0.0.1", 8765))
def serve():
    while True:
        connection = server.accept()[0]
        connection.sendall(b"served\\n")
        connection.close()
threading.Thread(target=serve, daemon=True).start()
print("listening", flush=True)
for line in sys.stdin:
    print("read", line.strip(), flush=True)
`;

describe('a server in the background', () => {
  test('is started, asked, written to and killed, and every call shows as an event', async ({ skip }) => {
    const ask = 'until cat < /dev/tcp/127.0.0.1/8765; do sleep 0.05; done 2>/dev/null';
    const { started, completed, told } = await play(
      world,
      ...inTurn(
        call('write_file', { path: 'server.py', content: SERVER }),
        background('exec python3 server.py'),
        terminal(ask),
        process('write', { data: 'hello', enter: true }),
        process('log'),
        call('process', { action: 'list' }),
        process('kill'),
        process('poll'),
      ),
    );
    const [, start, answer, , log, list, killed, gone] = told.map(({ content }) => content);
    if (/python3: (command )?not found/.test(start ?? '')) skip('there is no python3 on this machine');
    expect(start).toMatch(/^proc_[0-9a-f]+ has been running for/);
    expect(answer).toBe('served\n');
    expect(log).toContain('listening\nread hello\n');
    expect(list).toMatch(/^proc_[0-9a-f]+ {2}running .* exec python3 server\.py$/);
    expect(killed).toMatch(/^proc_[0-9a-f]+ was killed after/);
    expect(gone).toMatch(/^proc_[0-9a-f]+ was killed after .*\n\[no new output\]$/);
    expect(completed.map(({ error }) => error)).toEqual(Array(8).fill(false));
    expect(started.slice(1).map(({ tool, preview }) => `${tool}: ${preview}`)).toEqual([
      'terminal: exec python3 server.py',
      `terminal: ${ask}`,
      expect.stringMatching(/^process: write proc_[0-9a-f]+ hello$/),
      expect.stringMatching(/^process: log proc_[0-9a-f]+$/),
      'process: list',
      expect.stringMatching(/^process: kill proc_/),
      expect.stringMatching(/^process: poll proc_/),
    ]);
    expect(started[1]?.arguments).toEqual({ command: 'exec python3 server.py', background: true });
  });
});

describe('background processes end with the run', () => {
  const keepRunning = (sleep: string) =>
    background(`setsid ${sleep} & nohup ${sleep} >/dev/null & exec ${sleep}`);

  test('that completes', async () => {
    const { command, marker } = markedSleep();
    const gate = `completes ${marker}`;
    const runId = await world.api.create(
      script([{ tools: [keepRunning(command)] }, { gate, text: 'left it running' }]),
    );
    await waitFor('all of it to run', () => processesWith(marker).length >= 3);
    world.model.open(gate);
    await endsAs(world.api, runId, 'run.completed');
    await waitFor('all of it to be gone', () => processesWith(marker).length === 0);
  });

  test('that is stopped, before it says so', async () => {
    const { command, marker } = markedSleep();
    const runId = await world.api.create(script([{ tools: [keepRunning(command)] }, { hang: 'before' }]));
    await waitFor('all of it to run', () => processesWith(marker).length >= 3);
    expect((await world.api.stop(runId)).status).toBe(200);
    await endsAs(world.api, runId, 'run.cancelled');
    expect(processesWith(marker)).toEqual([]);
  });

  test('that fails, before it says so', async () => {
    const { command, marker } = markedSleep();
    const gate = `fails ${marker}`;
    const runId = await world.api.create(
      script([{ tools: [keepRunning(command)] }, { gate, finish: 'content_filter', text: 'x' }]),
    );
    await waitFor('all of it to run', () => processesWith(marker).length >= 3);
    world.model.open(gate);
    await endsAs(world.api, runId, 'run.failed');
    expect(processesWith(marker)).toEqual([]);
  });

  test('and a wait for it ends with a stop', async () => {
    const { command, marker } = markedSleep();
    const runId = await world.api.create(script([...inTurn(background(`exec ${command}`), process('wait'))]));
    await waitFor('the wait', async () => names((await world.api.stream(runId, { until: waits })).frames));
    expect((await world.api.stop(runId)).status).toBe(200);
    const { frames } = await endsAs(world.api, runId, 'run.cancelled');
    expect(ofKind(frames, 'tool.completed')).toHaveLength(1);
    expect(processesWith(marker)).toEqual([]);
  });
});

describe('stateful commands', () => {
  test('continue from each other; others do not', async () => {
    const stateful = (command: string) => terminal(command, { stateful: true });
    const { told } = await play(
      world,
      ...inTurn(
        stateful(
          'mkdir -p app && cd app && export WHO=me && greet() { echo "hello $WHO from $PWD"; }; exit 3',
        ),
        terminal('echo "[$WHO] $PWD"'),
        stateful('greet'),
      ),
      { text: 'I see' },
    );
    const [first, plain, second] = told.map(({ content }) => content);
    expect(first).toContain('code 3');
    expect(plain).toBe('[] /workspace\n');
    expect(second).toBe('hello me from /workspace/app\n');
  });

  test('in one step run in the order of the calls', async () => {
    const steps = ['export N=1', 'N="$N 2"; sleep 0.2', 'echo "$N 3"'];
    const { told } = await play(
      world,
      { tools: steps.map((command) => terminal(command, { stateful: true })) },
      { text: 'I see' },
    );
    expect(told.at(-1)?.content).toBe('1 2 3\n');
  });
});

describe('approvals', () => {
  test('input for a shell asks, and shows the program with its input; if refused, it never arrives', async () => {
    const prompt = script([
      ...inTurn(
        background('exec bash'),
        process('write', { data: 'touch written', enter: true }),
        terminal('ls'),
      ),
    ]);
    const runId = await world.api.create(prompt);
    const approval = await waitForApproval(world.api, runId);
    expect(approval).toMatchObject({
      command: "(exec bash\n) <<'input'\ntouch written\ninput\n",
      pattern_key: 'heredoc to a shell',
    });
    await world.api.approve(runId, 'deny', { request_id: approval.request_id });
    await endsAs(world.api, runId, 'run.completed');
    const told = toldOf(world, prompt).map(({ content }) => content);
    expect(told[1]).toContain('refused');
    expect(told[2]).not.toContain('written');
  });

  test('input for a shell that is approved arrives', async () => {
    const prompt = script([
      ...inTurn(
        background('exec bash'),
        process('write', { data: 'touch written; echo did it; exit', enter: true }),
        process('wait'),
        terminal('ls'),
      ),
    ]);
    const runId = await world.api.create(prompt);
    const { request_id } = await waitForApproval(world.api, runId);
    await world.api.approve(runId, 'once', { request_id });
    await endsAs(world.api, runId, 'run.completed');
    expect(toldOf(world, prompt).at(-1)?.content).toBe('written\n');
  });

  test('a function that an earlier stateful command defined cannot hide what it runs', async () => {
    const stateful = (command: string) => terminal(command, { stateful: true });
    const runId = await world.api.create(
      script([...inTurn(stateful('run() { rm -f "$@"; }'), stateful('run -r build'))]),
    );
    const approval = await waitForApproval(world.api, runId);
    expect(approval).toMatchObject({ command: 'run -r build', pattern_key: 'recursive delete' });
    await world.api.approve(runId, 'deny', { request_id: approval.request_id });
    await endsAs(world.api, runId, 'run.completed');
  });
});

test('wrong calls are answered with what was wrong', async () => {
  const { told, completed } = await play(
    world,
    ...inTurn(
      call('process', {}),
      call('process', { action: 'poll' }),
      call('process', { action: 'start', id: 'x' }),
      call('process', { action: 'write', id: 'x' }),
      call('process', { action: 'poll', id: 'proc_unknown' }),
      call('process', { action: 'poll', id: 'proc_unknown', data: 'x' }),
      terminal('true', { background: 'yes' }),
    ),
  );
  expect(completed.map(({ error }) => error)).toEqual(Array(7).fill(true));
  for (const [index, words] of [
    "'action' must be one of list, poll, log, wait, write, kill",
    "'id' says which process to poll",
    "'action' must be one of",
    "write needs 'data', 'enter' or 'eof'",
    'There is no process proc_unknown',
    'leave data out',
    "'background' must be true or false",
  ].entries()) {
    expect(told[index]?.content).toContain(words);
  }
});

function waits({ event }: { event: { event: string; tool?: string } }): boolean {
  return event.event === 'tool.started' && event.tool === 'process';
}

/** The command in a real terminal: what a person sees of a run, and what keys do. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  terminal as bash,
  ServerWithModel,
  waitForApproval,
  waitForStatus,
} from '../e2e/server-with-model.ts';
import type { Api } from '../support/api.ts';
import { script } from '../support/model-server.ts';
import { noTmux, type TmuxOptions, TmuxTerminal } from '../support/tmux.ts';
import { waitFor } from '../support/wait-for.ts';
import { BIN, talariaTerminal } from './talaria.ts';

/** Asks before it runs. */
const gated = bash('rm -rf build; echo removed');

const READY = /\[o\]nce {2}\[s\]ession {2}\[a\]lways {2}\[d\]eny ›/;

describe.skipIf(noTmux !== '')(`in a terminal${noTmux}`, () => {
  let world: ServerWithModel;
  let api: Api;

  beforeAll(async () => {
    world = await ServerWithModel.start();
    api = world.api;
  });
  afterAll(() => world[Symbol.asyncDispose]());

  const start = (argv: string[], options: TmuxOptions = {}) =>
    talariaTerminal(world.server.url, argv, options);

  async function latestRun(): Promise<string> {
    return (await api.list('?limit=1')).data[0]!.run_id;
  }

  describe('a run', () => {
    test('shows text as it streams, its tools, its reasoning and its usage', async () => {
      const prompt = script([
        { reasoning: 'First I look.', text: 'I look around.', tools: [bash('echo here; exit 3')] },
        { chunks: ['Half a sent', { gate: 'rest' }, 'ence.'] },
      ]);
      await using terminal = await start(['run', prompt]);
      const early = await terminal.shows(/Half a sent/);
      expect(early).not.toContain('sentence.');
      expect(early).toMatch(
        /^First I look\.\nI look around\.\n✗ terminal {2}echo here; exit 3 {2}exit 3, [\d.]+s\n {4}here\n/m,
      );
      world.model.open('rest');
      expect(await terminal.exitCode()).toBe(0);
      expect(await terminal.screen()).toMatch(
        /^Half a sentence\.\n\n✓ completed in [\d.]+s · tokens 20 in, 10 out · run_\w{32}$/m,
      );
      const coloured = await terminal.screen({ colours: true });
      expect(coloured).toMatch(/\x1b\[2mFirst I look\./);
      expect(coloured).toMatch(/\x1b\[31m✗/);
      expect(await terminal.cursorIsVisible()).toBe(true);
    });

    test('shows a spinner and the elapsed time for a running tool', { tags: ['soak'] }, async () => {
      const prompt = script([{ tools: [bash('until test -e go; do sleep 0.05; done')] }, { text: 'done' }]);
      await using terminal = await start(['run', prompt]);
      const frames = new Set<string>();
      await waitFor('three frames of the spinner', async () => {
        const [, frame] =
          /^([⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]) terminal {2}until test -e go; .* {2}\ds$/m.exec(await terminal.screen()) ?? [];
        return frames.add(frame ?? '').size > 3;
      });
      await api.stop(await latestRun());
      expect(await terminal.exitCode()).toBe(4);
      expect(await terminal.screen()).toMatch(/^■ terminal {2}until .* {2}cut off$/m);
      expect(await terminal.screen()).toMatch(/^■ cancelled after [\d.]+s/m);
    });

    test('filters terminal escape sequences out of all text', async () => {
      const evil = '\x1b[2J\x1b[1;1Hgone\x1b]0;owned\x07\x9b31m\u202ereversed';
      const prompt = script([
        { reasoning: evil, text: `Safe.\n${evil}`, tools: [bash(`printf '%s' '${evil}'; exit 1`)] },
        { text: 'end' },
      ]);
      await using terminal = await start(['run', prompt], { env: { NO_COLOR: '1' } });
      expect(await terminal.exitCode()).toBe(0);
      const screen = await terminal.screen({ history: true, colours: true });
      expect(screen).not.toContain('\x1b');
      expect(screen).toContain('␛[2J␛[1;1Hgone␛]0;owned␇<U+009B>31m<U+202E>reversed\nSafe.\n␛[2J');
      expect(screen.match(/gone/g)!.length).toBeGreaterThanOrEqual(4);
    });

    test('has no colours with NO_COLOR, and no animation on a dumb terminal', async () => {
      const prompt = script([{ text: 'Hello', tools: [bash('false')] }, { text: 'Bye' }]);
      await using plain = await start(['run', prompt], { env: { NO_COLOR: '1' } });
      expect(await plain.exitCode()).toBe(0);
      expect(await plain.screen({ colours: true })).not.toContain('\x1b');

      const dumb = `TERM=dumb '${process.execPath}' '${BIN}' run "$PROMPT" | cat -v; echo end`;
      await using piped = await TmuxTerminal.start(['bash', '-c', dumb], {
        env: { TALARIA_BASE_URL: world.server.url, PROMPT: prompt },
      });
      await piped.shows(/^end$/m);
      expect(await piped.screen()).not.toContain('^[');
    });

    test('started with --detach says how to watch it, and watch shows it from its beginning', {
      tags: ['soak'],
    }, async () => {
      await using started = await start(['run', '-d', script([{ text: 'I am here.' }])]);
      const [runId] = /run_\w{32}/.exec(await started.shows(/^Watch it: talaria watch run_/m))!;
      expect(await started.exitCode()).toBe(0);
      await waitForStatus(api, runId, 'completed');
      await using watched = await start(['watch', runId.slice(0, 20)]);
      expect(await watched.exitCode()).toBe(0);
      expect(await watched.screen()).toMatch(/^I am here\.\n\n✓ completed/m);
    });
  });

  describe('an approval', () => {
    test('shows the whole command and its reason, and a key answers it', async () => {
      const long = bash(`rm -rf build; echo '${'long_'.repeat(60)}end'`);
      await using terminal = await start(['run', script([{ tools: [long] }, { text: 'done' }])], {
        columns: 60,
      });
      const asked = await terminal.shows(READY);
      expect(asked).toContain('? Approval needed: recursive delete\n  │ rm -rf build; echo ');
      const command = asked.match(/^ {2}│ .*$/gm)!.map((row) => row.slice(4));
      expect(command.join('')).toBe(`rm -rf build; echo '${'long_'.repeat(60)}end'`);
      expect(asked).toMatch(/^\? terminal .* {2}waits for approval$/m);
      expect(asked).toMatch(/^ {2}denied in (5m 00|4m \d\d)s without an answer$/m);
      // At once: a busy program reads several keys together.
      await terminal.press('x', 'o');
      expect(await terminal.exitCode()).toBe(0);
      const after = await terminal.screen({ history: true });
      expect(after).toMatch(/^✓ approved once\n✓ terminal {2}rm -rf build/m);
      expect(after).not.toMatch(READY);
    });

    test('is refused with d, and the run continues', { tags: ['soak'] }, async () => {
      await using terminal = await start(['run', script([{ tools: [gated] }, { text: 'Then not.' }])]);
      await terminal.shows(READY);
      await terminal.press('d');
      expect(await terminal.exitCode()).toBe(0);
      expect(await terminal.screen()).toMatch(/^✗ denied\n✗ terminal {2}rm -rf build; echo removed/m);
    });

    test('is not asked any more when it was answered elsewhere', async () => {
      const prompt = script([
        { tools: [gated] },
        { text: 'Waiting', chunks: ['On', { gate: 'elsewhere' }, 'ward'] },
      ]);
      await using terminal = await start(['run', prompt]);
      await terminal.shows(READY);
      const runId = await latestRun();
      await api.approve(runId, 'session');
      const after = await terminal.shows(/^On$/m);
      expect(after).toMatch(/^✓ approved session\n/m);
      expect(after).not.toMatch(READY);
      world.model.open('elsewhere');
      expect(await terminal.exitCode()).toBe(0);
    });

    test('asks each of several in turn', async () => {
      const prompt = script([{ tools: [gated, bash('chmod 777 .')] }, { text: 'done' }]);
      await using terminal = await start(['run', prompt]);
      await terminal.shows(READY);
      await terminal.press('o');
      await terminal.shows(/world\/other-writable permissions/);
      await terminal.shows(READY);
      await terminal.press('d');
      expect(await terminal.exitCode()).toBe(0);
      expect(await terminal.screen()).toMatch(/✓ approved once[\s\S]*│ chmod 777 \.[\s\S]*✗ denied/);
    });

    test('ignores keys that were pressed before the question', async () => {
      const prompt = script([{ gate: 'asks', tools: [gated] }, { text: 'done' }]);
      await using terminal = await start(['run', prompt]);
      await terminal.shows(/working/);
      await terminal.press('o', 'o', 'o');
      world.model.open('asks');
      await terminal.shows(READY);
      expect((await api.run(await latestRun())).status).toBe('waiting_for_approval');
      await terminal.press('d');
      expect(await terminal.exitCode()).toBe(0);
    });

    test('is not answered by pasted text', async () => {
      await using terminal = await start(['run', script([{ tools: [gated] }, { text: 'done' }])]);
      await terminal.shows(READY);
      await terminal.paste('so');
      await terminal.press('d');
      expect(await terminal.exitCode()).toBe(0);
      expect(await terminal.screen()).toMatch(/^✗ denied$/m);
    });

    test('is asked at the terminal also when the prompt comes from a pipe', async () => {
      const command = `printf %s "$PROMPT" | '${process.execPath}' '${BIN}' run - > answer; echo "[$(cat answer)]"`;
      await using terminal = await TmuxTerminal.start(['bash', '-c', `cd "$HOME" && ${command}`], {
        env: {
          TALARIA_BASE_URL: world.server.url,
          PROMPT: script([{ tools: [gated] }, { text: 'The answer.' }]),
        },
      });
      await terminal.shows(READY);
      await terminal.press('o');
      expect(await terminal.shows(/^\[The answer\.\]$/m)).toContain('✓ completed');
    });

    test('can be looked at and answered by another command', async () => {
      const runId = await api.create(script([{ tools: [gated] }, { text: 'done' }]));
      await waitForApproval(api, runId);
      await using terminal = await start(['approve', runId]);
      expect(await terminal.shows(READY)).toContain('  │ rm -rf build; echo removed');
      await terminal.press('o');
      expect(await terminal.exitCode()).toBe(0);
      expect(await terminal.screen()).toMatch(/^✓ approved once: rm -rf build; echo removed$/m);
      await waitForStatus(api, runId, 'completed');
    });

    test('is not answered when another command is left with Ctrl-C', async () => {
      const runId = await api.create(script([{ tools: [gated] }, { text: 'done' }]));
      await waitForApproval(api, runId);
      await using terminal = await start(['approve', runId]);
      await terminal.shows(READY);
      await terminal.press('C-c');
      expect(await terminal.exitCode()).toBe(130);
      expect(await terminal.screen()).toMatch(/^Nothing was answered$/m);
      expect(await terminal.cursorIsVisible()).toBe(true);
      expect((await api.run(runId)).status).toBe('waiting_for_approval');
      await api.stop(runId);
    });
  });

  test("a call of a client's tool is shown as such, and answered by another command", async () => {
    const tools = [{ type: 'function', function: { name: 'get' } }];
    const prompt = script([{ tools: [{ name: 'get', arguments: { what: 'snow' } }] }, { text: 'done' }]);
    const runId = await api.create(prompt, { tools });
    await using watching = await start(['watch', runId]);
    const asked = await watching.shows(/^\? get {2}\{"what":"snow"\} {2}waits for its client$/m);
    expect(asked).not.toContain('working');
    await watching.shows(/Answer it with: talaria answer run_/);
    await using terminal = await start(['answer', runId]);
    expect(await terminal.shows(/Type the output/)).toContain('  │ {"what":"snow"}');
    await terminal.press('a lot', 'Enter', 'C-d');
    expect(await terminal.exitCode()).toBe(0);
    expect(await terminal.screen()).toMatch(/^✓ answered: get \{"what":"snow"\}$/m);
    expect(await watching.exitCode()).toBe(0);
    expect(await watching.screen()).toMatch(/^✓ get {2}\{"what":"snow"\}/m);
  });

  describe('Ctrl-C', () => {
    const endless = () => script([{ tools: [bash('sleep 3600')] }, { text: 'done' }]);

    test('once leaves the run alone and says how to come back', async () => {
      await using terminal = await start(['run', endless()]);
      await terminal.shows(/sleep 3600/);
      await terminal.press('C-c');
      const runId = await latestRun();
      expect(await terminal.exitCode()).toBe(130);
      expect(await terminal.screen()).toContain(
        `Leaving; the run continues. Ctrl-C again stops it.\nCome back: talaria watch ${runId}`,
      );
      expect(await terminal.cursorIsVisible()).toBe(true);
      expect((await api.run(runId)).status).toBe('running');
      await api.stop(runId);
    });

    test('twice stops the run', async () => {
      await using terminal = await start(['run', endless()]);
      await terminal.shows(/sleep 3600/);
      await terminal.press('C-c');
      await terminal.shows(/Leaving/);
      await terminal.press('C-c');
      expect(await terminal.exitCode()).toBe(4);
      expect(await terminal.screen()).toMatch(/^■ cancelled/m);
      expect((await api.run(await latestRun())).status).toBe('cancelled');
    });

    test('works while a question is open', { tags: ['soak'] }, async () => {
      await using terminal = await start(['run', script([{ tools: [gated] }, { text: 'done' }])]);
      await terminal.shows(READY);
      await terminal.press('C-c');
      expect(await terminal.exitCode()).toBe(130);
      const runId = await latestRun();
      expect((await api.run(runId)).status).toBe('waiting_for_approval');
      await api.stop(runId);
    });
  });

  describe('under a shell', () => {
    const working = bash('sleep 3600');
    const WORKING = /sleep 3600 {2}\d+s$/m;

    /** A shell with job control, in which a new run is watched. */
    async function watchInShell(tool: typeof working, drawn: RegExp) {
      const runId = await api.create(script([{ tools: [tool] }, { text: 'done' }]));
      const env = { PS1: 'shell> ', TALARIA_BASE_URL: world.server.url };
      const shell = await TmuxTerminal.start(['bash', '--norc', '--noprofile', '-i'], { env });
      await shell.shows(/^shell>/m);
      await shell.press(`${process.execPath} ${BIN} watch ${runId}`, 'Enter');
      await shell.shows(drawn);
      expect(await shell.cursorIsVisible()).toBe(false);
      return { shell, runId };
    }

    const released = async (_: string, tool: typeof working, drawn: RegExp) => {
      const { shell, runId } = await watchInShell(tool, drawn);
      await using _shell = shell;
      await shell.press('C-z');
      await shell.shows(/Stopped/);
      expect(await shell.cursorIsVisible()).toBe(true);
      await shell.press('echo as it "was"', 'Enter');
      const stopped = await shell.shows(/^as it was$/m);
      expect(stopped).toContain('shell> echo as it "was"');
      expect(stopped).not.toMatch(drawn);
      await shell.press('fg', 'Enter');
      await shell.shows(drawn);
      await api.stop(runId);
      await shell.shows(/■ cancelled/);
    };
    const releasedTitle = 'Ctrl-Z %s releases the terminal, and fg continues';
    test.each([['while a question is open', gated, READY] as const])(releasedTitle, released);
    test.each([['while a tool works', working, WORKING] as const])(
      releasedTitle,
      { tags: ['soak'] },
      released,
    );

    test('Ctrl-\\ ends it at once, and restores the cursor', { tags: ['soak'] }, async () => {
      const { shell, runId } = await watchInShell(working, WORKING);
      await using _shell = shell;
      await shell.press('C-\\');
      await shell.shows(/Quit/);
      expect(await shell.cursorIsVisible()).toBe(true);
      await api.stop(runId);
    });
  });

  test('a footer higher than the window is not drawn again and again below itself', async () => {
    const path = 'a-directory-with-a-long-name/'.repeat(3);
    const command = bash(`rm -rf ${path}`);
    await using terminal = await start(['run', script([{ tools: [command] }, { text: 'done' }])], {
      columns: 14,
      rows: 8,
    });
    const count = async (text: RegExp) =>
      (await terminal.screen({ history: true })).replaceAll('\n', '').match(text)?.length ?? 0;
    await terminal.shows(/›/);
    const remaining = () => terminal.screen().then((screen) => /\dm\s*(\d\d)s/.exec(screen)?.[1]);
    const first = await remaining();
    await waitFor('the time to go on', async () => (await remaining()) !== first);
    expect(await count(/\[d\]eny/g)).toBe(1);
    await api.stop(await latestRun());
    expect(await terminal.exitCode()).toBe(4);
  });

  // Repeated, because a frame may be on its way when the terminal has wrapped the last one and the program does not
  // know it yet. Then it wipes too little, and no program could know better.
  describe('a window that changes its size', { retry: 4 }, () => {
    const REDRAWN_WITHIN_MS = 5_000;

    const leavesNoTraces = async (_: string, before: number, after: number) => {
      const prompt = script([
        { text: 'Look.', tools: [bash(`: ${'word '.repeat(30)}; sleep 3600`)] },
        { text: 'x' },
      ]);
      await using terminal = await start(['run', prompt], { columns: before });
      await terminal.shows(/terminal {2}: word/);
      await terminal.resize(after, 30);
      const fits = async () => {
        const rows = (await terminal.screen()).split('\n').filter((row) => /terminal {2}: word/.test(row));
        // Before it is redrawn, the terminal has wrapped it: then its first row fills the window.
        return rows.length === 1 && rows[0]!.length > after - 10 && rows[0]!.length < after;
      };
      await waitFor('the footer to fit', fits, REDRAWN_WITHIN_MS);
      await api.stop(await latestRun());
      expect(await terminal.exitCode()).toBe(4);
      const rows = (await terminal.screen()).split('\n').filter((row) => /word/.test(row));
      expect(rows).toHaveLength(1);
      expect(rows[0]).toMatch(/^■ terminal {2}: word.* {2}cut off$/);
    };
    const tracesTitle = '%s leaves no traces of earlier frames';
    test.each([['narrower', 100, 50] as const])(tracesTitle, leavesNoTraces);
    test.each([['wider', 50, 100] as const])(tracesTitle, { tags: ['soak'] }, leavesNoTraces);
  });
});

import { describe, expect, it } from 'vitest';
import { freePort } from '../../../../test/support/free-port.ts';
import { json, serve } from '../../../client/src/testing/test-server.ts';
import { version } from '../basics/version.ts';
import { commandList, commands, groups } from './commands.ts';
import { findCommand, topWords, wordsOf } from './find-command.ts';
import { main } from './main.ts';
import { parseArguments } from './parse-arguments.ts';
import { TestTerminal } from './testing/test-terminal.ts';

async function run(argv: string[], env: Record<string, string> = {}) {
  const terminal = new TestTerminal(env);
  const code = await main(argv, terminal);
  return { code, stdout: terminal.stdout.written, stderr: terminal.stderr.written };
}

describe('help', () => {
  it.each([['--help'], ['-h'], ['help']])('lists the commands for %s', async (word) => {
    const { code, stdout, stderr } = await run([word]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const name of topWords().slice(0, -1)) expect(stdout).toMatch(new RegExp(`^  ${name} +\\S`, 'm'));
  });

  it.each(commandList.map(([, spec]) => spec))(
    'of $name has its usage, its flags and an example',
    async (spec) => {
      const words = spec.name.split(' ');
      const { code, stdout, stderr } = await run([...words, '--help']);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain(`Usage: talaria ${spec.name}`);
      for (const name of Object.keys(spec.options)) expect(stdout).toContain(`--${name}`);
      for (const { line } of spec.examples) expect(stdout).toContain(`\n  ${line}`);
      if (!spec.takesSettings) expect(stdout.split('\n').filter((line) => line.length > 100)).toEqual([]);
      for (const asked of [
        ['help', ...words],
        ['--help', ...words],
        [...words, '-h', 'more'],
      ]) {
        expect((await run(asked)).stdout).toBe(stdout);
      }
    },
  );

  it.each(Object.keys(groups))('of the group %s lists its commands', async (group) => {
    const { code, stdout } = await run([group, '--help']);
    expect(code).toBe(0);
    expect((await run(['help', group])).stdout).toBe(stdout);
    for (const word of wordsOf(group)) expect(stdout).toMatch(new RegExp(`^  ${word} +\\S`, 'm'));
    expect(await run([group])).toEqual({ code: 2, stdout: '', stderr: stdout });
  });

  it('of serve has every setting', async () => {
    const { stdout } = await run(['serve', '--port', 'x', '-h']);
    expect(stdout).toContain('--port <integer>');
    expect(stdout).toContain('[API_SERVER_PORT; default 8642]');
    expect(stdout).toContain('--[no-]allow-network');
    expect(stdout).toContain('TALARIA_CONFIG');
  });

  it('is shown for a missing command, as a mistake', async () => {
    const { code, stdout, stderr } = await run([]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('Usage: talaria <command>');
  });
});

it('prints the version', async () => {
  expect(await run(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  expect(version).toMatch(/^\d+\.\d+\.\d+/);
});

describe('wrong usage ends with 2 and a hint:', () => {
  it.each([
    [['sevre'], 'unknown command "sevre"; did you mean serve?\n'],
    [['deny'], 'unknown command "deny"; did you mean talaria approve <run> deny?\n'],
    [['help', 'dance'], 'unknown command "dance"; talaria help lists them\n'],
    [['--api-key=s3cret'], 'expected a command before --api-key; talaria help lists them\n'],
    [['artifacts', 'lss'], 'unknown command "artifacts lss"; did you mean ls?\n'],
    [['jobs', '--json'], 'expected a command before --json; talaria help jobs lists them\n'],
    [['run'], 'expected <prompt>: what to do; - reads it from stdin\nSee talaria help run\n'],
    [['run', 'hi', '--detch'], 'unknown flag --detch; did you mean --detach?\nSee talaria help run\n'],
    [['run', '--sesion=s3cret'], 'unknown flag --sesion; did you mean --session?\nSee talaria help run\n'],
    [['run', 'a', 'b'], 'unexpected argument "b"; quote what belongs together\nSee talaria help run\n'],
    [['run', ' '], 'the prompt is empty\nSee talaria help run\n'],
    [['fork', 'run_1', ' '], 'the prompt is empty\nSee talaria help fork\n'],
    [
      ['fork'],
      'expected <run>: id of a run; its beginning is enough if no other run begins the same\nSee talaria help fork\n',
    ],
    [['run', 'hi', '--session'], '--session has no value; expected <id>\nSee talaria help run\n'],
    [['run', 'hi', '--session', '--json'], '--session has no value; expected <id>\nSee talaria help run\n'],
    [['run', 'hi', '--json=yes'], '--json takes no value\nSee talaria help run\n'],
    [['runs', '-n', '0'], '-n is "0"; expected a number from 1 to 100000\nSee talaria help runs\n'],
    [
      ['runs', '--status', 'complete'],
      '--status is "complete"; expected started, running, waiting_for_approval, waiting_for_tool, stopping, completed, failed, cancelled; did you mean completed?\nSee talaria help runs\n',
    ],
    [
      ['approve', 'run_1', 'yes'],
      'the choice is "yes"; expected once, session, always, deny\nSee talaria help approve\n',
    ],
    [['show', 'x y'], '"x y" is not the id of a run; expected run_ and hex digits\nSee talaria help show\n'],
    [
      ['runs', '--api-key', 's3cret'],
      '--api-key would show the key in the list of processes; set TALARIA_API_KEY instead\nSee talaria help runs\n',
    ],
    [
      ['runs', '--server', 'localhost'],
      '--server "localhost" is not the address of a server; expected http://host:port\nSee talaria help runs\n',
    ],
    [
      ['runs', '--server', 'http://me:s3cret@localhost'],
      '--server is not the address of a server; expected http://host:port\nSee talaria help runs\n',
    ],
    [['completion', 'tcsh'], 'the shell is "tcsh"; expected bash, zsh, fish\nSee talaria help completion\n'],
  ])('%j', async (argv, message) => {
    expect(await run(argv)).toEqual({ code: 2, stdout: '', stderr: message });
  });
});

describe('the examples in help', () => {
  const lines = commandList.flatMap(([, { examples }]) => examples.map(({ line }) => line));

  it.each(lines)('%s is a right use of a command', (line) => {
    for (const words of commandsIn(line)) {
      const found = findCommand(words);
      expect(found.kind).toBe('command');
      if (found.kind === 'command') parseArguments(commands[found.key], found.rest);
    }
  });

  /** The words after each `talaria` of a shell's line. */
  function commandsIn(line: string): string[][] {
    const words = line.match(/'[^']*'|[^\s()|]+|[()|]/g)!.map((word) => word.replaceAll("'", ''));
    return words.flatMap((word, index) => {
      if (word !== 'talaria') return [];
      const end = words.findIndex((other, at) => at > index && /^[()|>]|^\$\(/.test(other));
      return [words.slice(index + 1, end < 0 ? undefined : end)];
    });
  }
});

it('reports an unreachable server at once, and as JSON to programs', async () => {
  const env = { TALARIA_BASE_URL: 'http://127.0.0.1:1' };
  const { code, stdout, stderr } = await run(['runs'], env);
  expect({ code, stdout }).toEqual({ code: 5, stdout: '' });
  expect(stderr).toMatch(/^(No server answers at|The server at) http:\/\/127\.0\.0\.1:1 .*\n$/);
  const inJson = await run(['runs', '--json'], env);
  expect(inJson).toMatchObject({ code: 5, stdout: '' });
  expect(JSON.parse(inJson.stderr)).toEqual({
    error: { message: stderr.trimEnd(), code: null, status: null, exit_code: 5 },
  });
});

it('reports a server that is not there in the same way for ui', async () => {
  const env = { TALARIA_BASE_URL: `http://127.0.0.1:${await freePort()}` };
  const ui = await run(['ui'], env);
  expect(ui).toMatchObject({ code: 5, stderr: expect.stringContaining('start one with talaria serve') });
  expect(ui).toEqual(await run(['runs'], env));
});

describe('an address that is almost right', () => {
  it.each([['runs'], ['runs --watch'], ['show run_1'], ['jobs list']])(
    'has no API at its path, says %s',
    async (line) => {
      const { url } = await serve((response) => json(response, 404, { error: { code: 'not_found' } }));
      const { code, stderr } = await run(line.split(' '), { TALARIA_BASE_URL: `${url}/foo` });
      const message = `There is no API at ${url}/foo; expected the address that the server prints\n`;
      expect({ code, stderr }).toEqual({ code: 1, stderr: message });
    },
  );

  it.each([['runs'], ['ui']])('speaks http and not https, says %s', async (command) => {
    const { url } = await serve((response) => json(response, 200, {}));
    const secure = url.replace('http:', 'https:');
    const message = `The server at ${secure} could not be asked: it speaks http, not https\n`;
    expect(await run([command, '--server', secure])).toEqual({ code: 5, stdout: '', stderr: message });
  });
});

describe('config', () => {
  it('shows every value with its source, and no secret', async () => {
    const env = {
      OPENAI_API_KEY: 's3cret',
      TALARIA_INSTRUCTIONS: `Be\n${'brief '.repeat(50)}`,
      TALARIA_UNHEARD_OF: '1',
    };
    const { code, stdout, stderr } = await run(['config', '--port', '80'], env);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^API_SERVER_PORT +80 +flag --port$/m);
    expect(stdout).toMatch(/^OPENAI_API_KEY +\*\*\* +environment$/m);
    expect(stdout).toMatch(/^API_SERVER_KEY +\(not set\) +default$/m);
    expect(stdout).toMatch(/^TALARIA_INSTRUCTIONS +Be brief brief.*… +environment$/m);
    expect(stdout).not.toContain('s3cret');
    expect(stderr).toBe('Warning: unknown environment variable TALARIA_UNHEARD_OF\n');
  });

  it('prints JSON', async () => {
    const env = { API_SERVER_KEYS: 'ada:s3cret', TALARIA_UNHEARD_OF: '1' };
    const { code, stdout, stderr } = await run(['config', '--json', '--lease-seconds=2'], env);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).not.toContain('s3cret');
    const { config_file, settings, warnings } = JSON.parse(stdout);
    expect(config_file).toBeNull();
    expect(warnings).toHaveLength(1);
    expect(settings).toContainEqual({
      env: 'TALARIA_LEASE_SECONDS',
      flag: '--lease-seconds',
      key: 'lease_seconds',
      value: '2',
      source: 'flag --lease-seconds',
    });
    expect(settings).toContainEqual(expect.objectContaining({ env: 'API_SERVER_KEYS', value: 'ada:***' }));
    expect(settings).toContainEqual(expect.objectContaining({ env: 'TALARIA_MODEL', value: null }));
  });

  it('lists problems and ends with 2', async () => {
    const { code, stdout, stderr } = await run(['config', '--prot', '1']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toBe(
      'The configuration has a problem:\n  - unknown flag --prot; did you mean --port?\nAll settings: talaria help serve\n',
    );
  });
});

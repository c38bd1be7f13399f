import { describe, expect, it } from 'vitest';
import { version } from '../version.ts';
import { main } from './main.ts';

async function run(argv: string[], env: Record<string, string> = {}) {
  const output = { stdout: '', stderr: '' };
  const code = await main(argv, {
    out: (text) => {
      output.stdout += `${text}\n`;
    },
    err: (text) => {
      output.stderr += `${text}\n`;
    },
    env,
    homeDir: '/nonexistent/home',
  });
  return { code, ...output };
}

describe('help', () => {
  it.each([['--help'], ['-h'], ['help']])('lists the commands for %s', async (word) => {
    const { code, stdout, stderr } = await run([word]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/serve .*\n.*config /);
  });

  it.each([
    [['serve', '--help']],
    [['help', 'serve']],
    [['--help', 'serve']],
    [['serve', '--port', 'x', '-h']],
  ])('shows the settings for %j', async (argv) => {
    const { code, stdout } = await run(argv);
    expect(code).toBe(0);
    expect(stdout).toContain('Usage: talaria serve [settings]');
    expect(stdout).toContain('--port <integer>');
    expect(stdout).toContain('[API_SERVER_PORT; default 8642]');
    expect(stdout).toContain('--[no-]allow-network');
    expect(stdout).toContain('TALARIA_CONFIG');
  });

  it('shows the option of config', async () => {
    expect((await run(['config', '--help'])).stdout).toContain('--json');
  });

  it('is what a missing command gets, as a mistake', async () => {
    const { code, stdout, stderr } = await run([]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('Usage: talaria <command>');
  });
});

it('prints the version', async () => {
  expect(await run(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  expect(version).toMatch(/^\d+\.\d+\.\d+/);
});

describe('an unknown command', () => {
  it.each([
    [['sevre'], 'unknown command "sevre"; there are: serve, config, help; did you mean serve?\n'],
    [['help', 'dance'], 'unknown command "dance"; there are: serve, config, help\n'],
    [['--api-key=s3cret'], 'expected a command before --api-key; there are: serve, config, help\n'],
  ])('%j is answered with those that exist', async (argv, message) => {
    expect(await run(argv)).toEqual({ code: 2, stdout: '', stderr: message });
  });
});

describe('config', () => {
  it('shows every value with its source, and no secret', async () => {
    const env = {
      OPENAI_API_KEY: 's3cret',
      TALARIA_INSTRUCTIONS: `Be\n${'brief '.repeat(50)}`,
      TALARIA_X: '1',
    };
    const { code, stdout, stderr } = await run(['config', '--port', '80'], env);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^API_SERVER_PORT +80 +flag --port$/m);
    expect(stdout).toMatch(/^OPENAI_API_KEY +\*\*\* +environment$/m);
    expect(stdout).toMatch(/^API_SERVER_KEY +\(not set\) +default$/m);
    expect(stdout).toMatch(/^TALARIA_INSTRUCTIONS +Be brief brief.*… +environment$/m);
    expect(stdout).not.toContain('s3cret');
    expect(stderr).toBe('Warning: unknown environment variable TALARIA_X\n');
  });

  it('prints JSON', async () => {
    const env = { API_SERVER_KEYS: 'ada:s3cret', TALARIA_X: '1' };
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

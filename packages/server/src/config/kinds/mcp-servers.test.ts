import { describe, expect, it } from 'vitest';
import { configSecrets, describeConfig } from '../describe.ts';
import { load, problemsOf } from '../testing/load.ts';
import { secretsIn, secretsInArguments } from './plain-values.ts';
import { resolveReferences } from './references.ts';

const FILE = '/etc/talaria/t.json';

function fromFile(servers: unknown, env: Record<string, string> = {}) {
  return { argv: ['--config', FILE], files: { [FILE]: JSON.stringify({ mcp_servers: servers }) }, env };
}

function shown(options: Parameters<typeof load>[0]): string | undefined {
  return describeConfig(load(options).config).find(([env]) => env === 'TALARIA_MCP_SERVERS')![1];
}

describe('MCP servers', () => {
  it('are read from the file, with paths relative to it', () => {
    const { config } = load(
      fromFile({
        files: { command: './bin/files', args: ['--root', '.'], cwd: 'data', tools: ['read'] },
        web: { type: 'http', url: 'https://example.com/mcp', timeout_seconds: 5, approval: 'always' },
        off: { command: 'npx', args: ['-y', 'x'], enabled: false },
      }),
    );
    expect(config.mcpServers).toMatchObject([
      {
        name: 'files',
        transport: {
          kind: 'stdio',
          command: '/etc/talaria/bin/files',
          args: ['--root', '.'],
          env: {},
          cwd: '/etc/talaria/data',
        },
        enabled: true,
        approval: 'never',
        tools: ['read'],
        timeoutSeconds: undefined,
        connectTimeoutSeconds: 30,
      },
      {
        name: 'web',
        transport: { kind: 'http', url: 'https://example.com/mcp', headers: {} },
        approval: 'always',
        timeoutSeconds: 5,
      },
      { name: 'off', transport: { command: 'npx', cwd: undefined }, enabled: false },
    ]);
  });

  it('are read from a variable or a flag as JSON', () => {
    const json = '{"web": {"url": "http://127.0.0.1:9000/mcp"}}';
    expect(load({ env: { TALARIA_MCP_SERVERS: json } }).config.mcpServers[0]?.name).toBe('web');
    const { config, warnings } = load({ argv: ['--mcp-servers', json] });
    expect(config.mcpServers[0]?.name).toBe('web');
    expect(warnings).toEqual([expect.stringContaining('--mcp-servers shows its secret')]);
    expect(problemsOf({ env: { TALARIA_MCP_SERVERS: '{"web": {"url": "s3cret"' } })).toEqual([
      expect.stringMatching(/^TALARIA_MCP_SERVERS is \*\*\*: it is not valid JSON; allowed: a JSON object/),
    ]);
  });

  it.each<[unknown, string]>([
    ['files', ''],
    [[], ''],
    [{ files: 'npx' }, 'files must be an object'],
    [{ files: {} }, 'files must have either command or url, and has neither'],
    [{ files: { command: 'a', url: 'http://b' } }, 'files must have either command or url, and has both'],
    [{ '': { command: 'a' } }, '"" must be a name of 1 to 32 letters'],
    [{ a__b: { command: 'a' } }, '"a__b" must be a name of 1 to 32 letters'],
    [{ 'a b': { command: 'a' } }, '"a b" must be a name'],
    [{ ['y'.repeat(33)]: { command: 'a' } }, `"${'y'.repeat(33)}" must be a name`],
    [{ files: { comand: 'a', url: 'http://b' } }, 'files.comand is not known; did you mean command?'],
    [{ files: { command: 7 } }, 'files.command must be a string, not a number'],
    [{ files: { command: ' ' } }, 'files.command must not be empty'],
    [{ files: { command: 'a\0b' } }, 'files.command must not contain a NUL character'],
    [{ files: { command: 'a', args: 'b' } }, 'files.args must be an array of strings, not a string'],
    [{ files: { command: 'a', args: ['b', null] } }, 'files.args[1] must be a string, not null'],
    [{ files: { command: 'a', env: ['b'] } }, 'files.env must be an object of strings, not an array'],
    [{ files: { command: 'a', env: { B: 1 } } }, 'files.env.B must be a string, not a number'],
    [{ files: { command: 'a', env: { 'B C': 'd' } } }, 'files.env.B C is not the name of a variable'],
    [{ files: { command: 'a', cwd: '~bob/x' } }, 'files.cwd must be a path: ~name is not understood'],
    [{ files: { command: 'a', headers: {} } }, 'files.headers does not go with command'],
    [{ web: { url: 'http://b', env: {} } }, 'web.env does not go with url'],
    [{ web: { url: 'b' } }, 'web.url must be an http:// or https:// URL without fragment'],
    [{ web: { url: 'ftp://b' } }, 'web.url must be an http:// or https:// URL'],
    [{ web: { url: 'http://u:s3cret@b' } }, 'web.url must not contain a user name or password'],
    [{ web: { url: 'http://b', headers: { 'a:': 'c' } } }, 'web.headers.a: is not the name of a header'],
    [{ web: { url: 'http://b', headers: { a: 'b\nc' } } }, 'web.headers.a must be one line of Latin-1 text'],
    [{ web: { url: 'http://b', headers: { a: '' } } }, 'web.headers.a must not be empty'],
    [{ web: { url: 'http://b', type: 'stdio' } }, 'web.type must be "http" for a server with url'],
    [{ web: { url: 'http://b', type: 'sse' } }, 'web.type is "sse", which MCP has dropped'],
    [{ files: { command: 'a', enabled: 'yes' } }, 'files.enabled must be true or false'],
    [{ files: { command: 'a', approval: 'ask' } }, 'files.approval must be never or always'],
    [{ files: { command: 'a', tools: [] } }, 'files.tools must name at least one tool'],
    [{ files: { command: 'a', tools: ['b', ''] } }, 'files.tools[1] must be the name of a tool'],
    [
      { files: { command: 'a', timeout_seconds: 0 } },
      'files.timeout_seconds must be a number of seconds from',
    ],
    [
      { files: { command: 'a', connect_timeout_seconds: '5' } },
      'files.connect_timeout_seconds must be a number',
    ],
    [
      { files: { command: `\${S3CRET_NOT_SET}` } },
      `files.command refers to \${S3CRET_NOT_SET}, which is not set`,
    ],
    [
      { files: { command: 1 }, web: { url: 'x', tools: 3 } },
      'files.command must be a string, not a number; web.url must be an http:// or https:// URL without fragment; web.tools must be an array',
    ],
  ])('refuse %j', (servers, reason) => {
    const problems = problemsOf(fromFile(servers));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(`mcp_servers in ${FILE} is ***${reason === '' ? ';' : `: ${reason}`}`);
    expect(problems[0]).toContain('; allowed: a JSON object of servers by name');
    expect(problems[0]!.replace('S3CRET_NOT_SET', '')).not.toMatch(/s3cret/i);
  });

  it(`resolve \${NAME} from the environment, and read no variable that they do not use`, () => {
    const servers = {
      files: { command: 'run', args: [`--key=\${K1}`, `$\${K1}`], env: { TOKEN: `\${K2}`, MODE: 'fast' } },
      web: { url: `https://\${HOST}/mcp`, headers: { Authorization: `Bearer \${K3}` } },
      off: { command: 'x', env: { A: `\${NOT_SET}` }, enabled: false },
    };
    const env = { K1: 'one-1-one', K2: 'two-2-two', K3: 'three-3', HOST: 'example.com', K4: 'four-4-four' };
    const { config } = load(fromFile(servers, env));
    expect(config.mcpServers.map(({ transport }) => transport)).toMatchObject([
      { args: ['--key=one-1-one', `\${K1}`], env: { TOKEN: 'two-2-two', MODE: 'fast' } },
      { url: 'https://example.com/mcp', headers: { Authorization: 'Bearer three-3' } },
      { command: 'x' },
    ]);
    expect(configSecrets(config)).toEqual(
      expect.arrayContaining(['one-1-one', 'two-2-two', 'Bearer three-3', 'three-3']),
    );
    for (const open of ['fast', 'four-4-four', 'run']) expect(configSecrets(config)).not.toContain(open);
  });

  it('are shown without their secrets', () => {
    const path = 'k'.repeat(30);
    const servers = {
      files: {
        command: 'npx',
        args: ['--token', 's3cret-1', '--api-key=s3cret-2', '--root', '/srv', `--pass=\${P}`],
        env: { GITHUB_TOKEN: 's3cret-3', MODE: 'fast' },
      },
      web: { url: `https://example.com/${path}/mcp?key=s3cret-4`, headers: { 'X-Api-Key': 's3cret-5' } },
    };
    const options = fromFile(servers, { P: 's3cret-6' });
    expect(JSON.parse(shown(options)!)).toEqual({
      files: {
        command: 'npx',
        args: ['--token', '***', '--api-key=***', '--root', '/srv', '--pass=***'],
        env: { GITHUB_TOKEN: '***', MODE: '***' },
      },
      web: { url: 'https://example.com/***/mcp?***', headers: { 'X-Api-Key': '***' } },
    });
    const secrets = configSecrets(load(options).config);
    expect(secrets.sort()).toEqual([path, ...[1, 2, 3, 4, 5, 6].map((n) => `s3cret-${n}`)]);
    expect(shown({})).toBeUndefined();
  });
});

describe('a value counts as a secret', () => {
  it.each([
    ['GITHUB_TOKEN', 'hunter'],
    ['ANYTHING', 'ghp_16C7e42F292c6912E7'],
    ['ANYTHING', 'k7Qx-92m'],
    ['DSN', 'postgres://app:pw@db/x'],
    ['X', 'qWxZhTzLpQkR'],
  ])('%s=%s', (name, value) => {
    expect(secretsIn(name, value)).toEqual([value]);
  });

  it.each([
    ['NODE_ENV', 'production'],
    ['X-Toolsets', 'repos,issues'],
    ['ROOT', '/home/ada/data'],
    ['KEY_FILE', '~/.ssh/id'],
    ['MAX_TOKENS', '100000'],
    ['RATE', '0.5'],
    ['BASE_URL', 'https://api.example.com/v1'],
    ['AUTHOR', 'Ada Lovelace'],
    ['EMPTY_TOKEN', ''],
  ])('not %s=%s', (name, value) => {
    expect(secretsIn(name, value)).toEqual([]);
  });

  it('with and without the scheme of a header, and after a flag that names it', () => {
    expect(secretsIn('Authorization', 'Bearer abc-1')).toEqual(['Bearer abc-1', 'abc-1']);
    expect(secretsInArguments(['-k', 'a-1', '--token', 'b-1', '--token', '--flag', '--secret=c=1'])).toEqual([
      'b-1',
      'c=1',
    ]);
  });
});

it('a reference is a name in braces, and two dollar signs are not one', () => {
  const resolve = (text: string) => resolveReferences(text, { A: '1', B: '', C_2: `\${A}` });
  expect(resolve(`x\${A}\${A}-$A-\${}-\${1}`).text).toBe(`x11-$A-\${}-\${1}`);
  expect(resolve(`$\${A} \${C_2}`).text).toBe(`\${A} \${A}`);
  expect([...resolve(`\${A}\${B}\${D}$\${E}`).used]).toEqual([
    ['A', '1'],
    ['B', undefined],
    ['D', undefined],
  ]);
});

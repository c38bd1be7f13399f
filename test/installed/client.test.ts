/**
 * What a user gets who installs the client: it type-checks, runs on the oldest Node it names, is small, and does what
 * docs/client.md says.
 */
import { gzipSync } from 'node:zlib';
import { Talaria } from '@talaria/client';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PlainServer } from '../support/plain-server/plain-server.ts';
import { ServerProcess } from '../support/server-process.ts';
import { readExamples } from './doc-examples.ts';
import { EmptyProject, outsideNode } from './empty-project.ts';
import { expectPackage } from './expect-package.ts';

const BUNDLE_MAX_BYTES = 14 * 1024;

/** Reading every declaration of the schema library takes a while on a busy machine. */
const CHECK_LIMIT_MS = 120_000;

/** Uses the types in a way that only compiles when they are present and right. */
const CONSUMER = `
import { APIError, type Run, RateLimitError, type RunEvent, Talaria } from '@talaria/client';
import { isTerminalEvent } from '@talaria/protocol';
import { RunSchema } from '@talaria/protocol/schemas';
import { z } from 'zod';

const client = new Talaria({ baseUrl: 'http://127.0.0.1:1', apiKey: null, fetch: globalThis.fetch });
const schema: 'object' = RunSchema.type;

export async function use(): Promise<Run> {
  const { run_id, replayed } = await client.runs.create({ input: 'hi', session_id: undefined, more: 1 });
  const replay: boolean = replayed;
  for await (const event of client.runs.streamEvents(run_id, { after: 3 })) {
    if (event.event === 'message.delta') console.log(event.delta.length, replay, schema);
    if (event.event === 'tool.completed') console.log(event.duration.toFixed(), event.exit_code ?? 0);
    // @ts-expect-error: an event without a delta
    if (event.event === 'run.cancelled') console.log(event.delta);
    if (isTerminalEvent(event.event)) break;
  }
  for await (const run of client.runs.list({ status: 'failed' })) console.log(run.error_code);
  const page = await client.runs.list({ limit: 1 });
  console.log(page.next_cursor?.length);
  // @ts-expect-error: not a status
  client.runs.list({ status: 'lost' });
  const chunks = await client.chat.completions.create({ messages: [], stream: true });
  for await (const chunk of chunks) console.log(chunk.choices[0]?.delta.content);
  const answer = await client.chat.completions.create({ messages: [] });
  console.log(answer.choices[0]?.message.content);
  const tools = { add: { parameters: z.object({ a: z.number() }), execute: ({ a }: { a: number }) => a + 1 } };
  const summed = await client.runs.run({
    input: 'hi',
    tools: { ...tools, twice: { parameters: z.object({ b: z.number() }), execute: ({ b }) => b.toFixed() } },
    output_schema: z.object({ sum: z.number() }),
  });
  console.log(summed.output_parsed?.sum.toFixed(), summed.status === 'waiting_for_tool', summed.pending_calls?.length);
  // @ts-expect-error: not in the schema
  console.log(summed.output_parsed?.total);
  const body: ReadableStream<Uint8Array> | null = (await client.runs.artifacts.read(run_id, 'a')).body;
  await body?.cancel();
  return client.runs.run(
    { input: 'hi' },
    { onEvent: (event: RunEvent) => console.log(event.seq), onApproval: async ({ command }) => (command ? 'once' : 'deny') },
  );
}

use().catch((error: unknown) => {
  if (error instanceof RateLimitError) console.log(error.headers.get('retry-after'));
  else if (error instanceof APIError && error.code === 'run_not_found') console.log(error.requestId);
});
`;

let project: EmptyProject;
beforeAll(async () => {
  // The examples use a schema library; the client needs none.
  const wanted = ['@talaria/client', '@talaria/protocol', '@types/node', 'zod'];
  project = await EmptyProject.install(['protocol', 'client'], wanted);
}, CHECK_LIMIT_MS);
afterAll(() => project?.[Symbol.dispose]());

test.each(['@talaria/protocol', '@talaria/client'])('%s holds only built files', (name) => {
  expectPackage(project, name);
  expect(project.manifestOf(name)).toMatchObject({ sideEffects: false, engines: { node: '>=20' } });
});

test('the client depends only on the protocol', () => {
  expect(project.manifestOf('@talaria/client').dependencies).toEqual({
    '@talaria/protocol': expect.any(String),
  });
});

describe.each([
  ['bundler', 'esnext'],
  ['nodenext', 'nodenext'],
])('with moduleResolution %s', (moduleResolution, module) => {
  test.each([
    ['the DOM library', { lib: ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable'], types: [] }],
    ["Node's types", { lib: ['es2022'], types: ['node'] }],
  ])(
    'it type-checks under strict with %s',
    async (_, libraries) => {
      const target = 'es2022';
      // Once also every installed declaration, which is slow for the schema library.
      const skipLibCheck = moduleResolution !== 'bundler' || libraries.types.length > 0;
      const strict = { skipLibCheck, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
      project.write('consumer.ts', CONSUMER);
      const resolution = { target, module, moduleResolution, noEmit: true };
      await project.compile(['consumer.ts'], { ...resolution, ...strict, ...libraries });
    },
    CHECK_LIMIT_MS,
  );
});

const machine = outsideNode();
const hasNode20 = machine.version.startsWith('20.');

describe('it runs', () => {
  const reason = hasNode20 ? '' : ` (skipped: the Node of this machine is ${machine.version || 'missing'})`;

  test.skipIf(!hasNode20)(`on Node 20${reason}`, () => follow(machine.path));
  test('on the Node of the project', () => follow(process.execPath));

  async function follow(node: string): Promise<void> {
    await using server = await PlainServer.start({ key: 'sk-installed' });
    const program = project.write(
      'follow.js',
      `import { Talaria } from '@talaria/client';
       const client = new Talaria();
       const { run_id } = await client.runs.create({ input: 'hello' });
       const stream = client.runs.streamEvents(run_id);
       for await (const event of stream) console.log(event.event);
       console.log(await stream.text());`,
    );
    const env = { TALARIA_BASE_URL: server.url, TALARIA_API_KEY: 'sk-installed' };
    expect(await project.run(node, [program], env)).toBe('message.delta\nrun.completed\nYou said: hello\n');
  }
});

test(`its bundle is at most ${BUNDLE_MAX_BYTES} bytes, minified and gzipped, without a schema library`, async () => {
  const input = project.write('bundle.js', `export * from '@talaria/client';`);
  await using bundle = await rolldown({ input, platform: 'browser', cwd: project.directory });
  const { output } = await bundle.generate({ format: 'esm', minify: true });
  expect(output).toHaveLength(1);
  const modules = Object.keys(output[0].modules);
  expect(modules.filter((id) => id.includes('typebox'))).toEqual([]);
  expect(gzipSync(output[0].code, { level: 9 }).length).toBeLessThanOrEqual(BUNDLE_MAX_BYTES);
});

describe('the examples of docs/client.md', () => {
  const examples = readExamples('docs/client.md');
  let server: ServerProcess;
  let plain: PlainServer;
  beforeAll(async () => {
    server = await ServerProcess.start({ env: { API_SERVER_KEY: 'sk-docs', TALARIA_SLOTS: 'true' } });
    plain = await PlainServer.start({ key: 'sk-docs' });
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await plain?.[Symbol.asyncDispose]();
  });

  test('use every existing method', () => {
    const code = examples.map((example) => example.code).join('');
    const missing = methodsOf('client', new Talaria() as unknown as Methods).filter(
      (name) => !code.includes(`${name}(`) && !code.includes(`${name.replace('client.runs.', '')}(`),
    );
    expect(missing).toEqual([]);
  });

  /** Type-checks them and those of the READMEs, and compiles them to JavaScript, which Node 20 runs too. */
  let compiling: Promise<void> | undefined;
  function compile(): Promise<void> {
    const others = ['README.md', 'packages/client/README.md'].flatMap(readExamples);
    const files = [...examples, ...others].map(({ code }, index) => {
      project.write(`example-${index}.ts`, code);
      return `example-${index}.ts`;
    });
    const output = { target: 'es2022', module: 'nodenext', outDir: 'built', skipLibCheck: true };
    const lib = ['es2022', 'dom', 'dom.asynciterable'];
    return project.compile(files, { ...output, lib, types: ['node'] });
  }

  test('type-check', async () => {
    compiling ??= compile();
    await compiling;
  });

  const [node, version] = hasNode20
    ? [machine.path, machine.version]
    : [process.execPath, process.versions.node];
  const numbered = examples.map((example, index) => ({ ...example, index }));

  test.each(numbered)(`$title prints what it says, on Node ${version}`, async ({ index, prints, needs }) => {
    compiling ??= compile();
    await compiling;
    const baseUrl = needs === undefined || (await has(server.url, needs)) ? server.url : plain.url;
    const env = { TALARIA_BASE_URL: baseUrl, TALARIA_API_KEY: 'sk-docs' };
    const output = await project.run(node, [`built/example-${index}.js`], env);
    expect(output.split('\n').slice(0, -1)).toEqual(prints);
  });
});

/** Whether the server has that part of the API; the plain server plays what it does not have. */
async function has(url: string, part: string): Promise<boolean> {
  const paths: Record<string, string> = {
    jobs: 'api/jobs',
  };
  const headers = { authorization: 'Bearer sk-docs' };
  return (await fetch(`${url}/${paths[part]}`, { method: 'POST', headers, body: '{}' })).status !== 404;
}

interface Methods {
  [name: string]: unknown;
}

/** The calls of the client, as they are written. */
function methodsOf(name: string, value: Methods): string[] {
  const own = Object.getOwnPropertyNames(Object.getPrototypeOf(value)).filter(
    (each) => each !== 'constructor',
  );
  const parts = Object.entries(value).filter(
    (entry): entry is [string, Methods] => typeof entry[1] === 'object',
  );
  return [
    ...own.map((each) => `${name}.${each}`),
    ...parts.flatMap(([part, inner]) => methodsOf(`${name}.${part}`, inner)),
  ];
}

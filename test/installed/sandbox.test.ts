/** What a user gets who installs only the sandbox: it type-checks, and runs commands without a server. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  openTestDaemon,
  TEST_IMAGE,
  whyNoDocker,
} from '../../packages/sandbox/src/docker/testing/docker-daemon.ts';
import { listContainers } from '../../packages/sandbox/src/docker/testing/docker-fixture.ts';
import { readExamples } from './doc-examples.ts';
import { EmptyProject } from './empty-project.ts';
import { expectPackage } from './expect-package.ts';

const INSTALL_LIMIT_MS = 600_000;

/** Holds a slot, runs a batch in it and releases it; TypeScript that is also JavaScript. */
const PROGRAM = `
import { mkdtempSync } from 'node:fs';
import { SandboxError } from '@talaria/sandbox';
import { LocalBackend } from '@talaria/sandbox/local';

const backend = new LocalBackend({ workspacesDir: mkdtempSync('workspaces-') });
await backend.start();
const slot = await backend.acquire('episode-1');
const results = await backend.executeBatch(
  [
    [slot, 'bash', { command: 'echo $((6 * 7))' }],
    [slot, 'bash', { command: 'exit 3' }],
    [slot, 'read_file', { path: 'missing' }],
  ],
  { timeoutS: 10 },
);
for (const { success, output, metadata } of results) console.log(success, metadata.exit_code, output.trim());
await backend.release(slot, { resetWorkspace: true });
const unknown = await backend.executeBatch([[slot, 'bash', { command: 'true' }]]);
console.log(unknown[0]?.metadata.failure, SandboxError.name);
await backend.stop({ purge: true });
`;
const PRINTS = 'true 0 42\nfalse 3 \nfalse undefined \ngone SandboxError\n';

/** Only compiles when the types are present and right. */
const TYPED = `
import type { ExecutionResult, Slot, ToolBackend } from '@talaria/sandbox';
import { ToolExecutor } from '@talaria/sandbox';
import { DockerBackend } from '@talaria/sandbox/docker';
import { LocalBackend } from '@talaria/sandbox/local';
import { type Container, SlotPool } from '@talaria/sandbox/pool';

export async function use(backend: ToolBackend, slot: Slot): Promise<ExecutionResult[]> {
  // @ts-expect-error: no such failure
  if ((await backend.executeBatch([]))[0]?.metadata.failure === 'boredom') return [];
  // @ts-expect-error: a request needs its arguments
  await backend.executeBatch([[slot, 'bash']]);
  const result = await new ToolExecutor(backend).execute('episode-1', 'bash', { command: 'true' });
  console.log(result.metadata.exit_code?.toFixed());
  return backend.executeBatch([[slot, 'bash', { command: 'true' }]], { timeoutS: undefined });
}
export const backends: ToolBackend[] = [
  new LocalBackend({ workspacesDir: '.' }),
  new DockerBackend({ workspacesDir: '.', image: 'debian' }),
];
export const stats = (pool: SlotPool<Container>) => pool.stats();
`;

/** The package itself is mounted into the container, which runs a program of it. */
const IN_DOCKER = `
import { mkdtempSync } from 'node:fs';
import { resolve } from 'node:path';
import { DockerBackend } from '@talaria/sandbox/docker';

const { DOCKER_HOST: dockerHost, IMAGE: image } = process.env;
const backend = new DockerBackend({ workspacesDir: resolve(mkdtempSync('workspaces-')), image, dockerHost });
await backend.start();
try {
  const slot = await backend.acquire();
  const [result] = await backend.executeBatch([[slot, 'bash', { command: 'echo $((6 * 7))' }]]);
  console.log(result.output.trim());
} finally {
  await backend.stop({ purge: true });
}
`;

const noDocker = await whyNoDocker();

let project: EmptyProject;
beforeAll(async () => {
  project = await EmptyProject.install(['sandbox'], ['@talaria/sandbox', '@types/node']);
}, INSTALL_LIMIT_MS);
afterAll(() => project?.[Symbol.dispose]());

test('it holds built files, depends on what reads a kubeconfig and on a terminal emulator, and brings its programs', () => {
  expectPackage(project, '@talaria/sandbox');
  expect(project.manifestOf('@talaria/sandbox')).toMatchObject({ engines: { node: '>=24' } });
  const { dependencies } = project.manifestOf('@talaria/sandbox') as { dependencies?: object };
  expect(Object.keys(dependencies ?? {})).toEqual(['@xterm/headless', 'yaml']);
  const files = project.filesOf('@talaria/sandbox');
  for (const program of ['containers/server/main', 'local/terminal/screen-thread-program'])
    expect(files).toContain(`dist/${program}.js`);
});

test.each([
  ['bundler', 'esnext'],
  ['nodenext', 'nodenext'],
])('it type-checks under strict with moduleResolution %s', async (moduleResolution, module) => {
  project.write('typed.ts', TYPED);
  project.write('program.ts', PROGRAM);
  const options = { target: 'es2024', lib: ['es2024', 'esnext.disposable'], types: ['node'], noEmit: true };
  const strict = { exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true };
  await project.compile(['typed.ts', 'program.ts'], { module, moduleResolution, ...options, ...strict });
});

test.each(['program.mjs', 'program.ts'])('it runs from %s', async (name) => {
  expect(await project.run(process.execPath, [project.write(name, PROGRAM)])).toBe(PRINTS);
});

test.skipIf(noDocker !== undefined)(
  `it runs in Docker containers${noDocker === undefined ? '' : ` (missing: ${noDocker})`}`,
  async () => {
    await using daemon = await openTestDaemon();
    const env = { DOCKER_HOST: daemon.host, IMAGE: TEST_IMAGE };
    const program = project.write('docker.mjs', IN_DOCKER);
    expect(await project.run(process.execPath, [program], env)).toBe('42\n');
    expect(await listContainers(daemon)).toEqual([]);
  },
  INSTALL_LIMIT_MS,
);

test('the example in its README runs', async () => {
  const example = readExamples('packages/sandbox/README.md')[0]!.code;
  expect(await project.run(process.execPath, [project.write('example.ts', example)])).toBe(
    '100 of 100 solved\n',
  );
});

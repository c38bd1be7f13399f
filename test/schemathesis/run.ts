/**
 * `npm run schemathesis`: sends a server the requests that schemathesis (from PyPI) generates from its OpenAPI
 * document. Whatever it finds fails: an answer that the document does not have, a bad request that is accepted, a
 * method that is not refused with 405, a missing key that is not noticed, any 5xx. Its settings are in
 * schemathesis.toml.
 *
 * The requests are the same each time and take half a minute. Each phase has a limit, 120 s in all, after which it is
 * interrupted: what it found by then counts, and a slow machine is not a finding.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environment, isInstalled, pinnedVersion } from '../compat/python/environments.ts';
import { startModelServer } from '../support/model-server.ts';
import { ServerProcess } from '../support/server-process.ts';

/** Each separately: a slow phase takes no time from the others. */
const PHASES = [
  { names: 'examples,coverage', limitMs: 60_000 },
  { names: 'fuzzing', limitMs: 30_000 },
  { names: 'stateful', limitMs: 30_000 },
];
/** From the interruption to the end of its report. */
const REPORT_LIMIT_MS = 20_000;
const INTERRUPTED = 130;
const CONFIG = fileURLToPath(new URL('schemathesis.toml', import.meta.url));
const KEY = 'sk-schemathesis-0000000001';

interface Report {
  test_cases: { generated: number };
  failures: unknown[];
  errors: unknown[];
}

const installation = environment('schemathesis');
if (!isInstalled(installation)) {
  console.log('Skipped: schemathesis is not installed. Run "npm run compat:install"; it needs Python 3.11.');
  process.exit(0);
}

await using resources = new AsyncDisposableStack();
const directory = mkdtempSync(join(tmpdir(), 'talaria-schemathesis-'));
resources.defer(() => rmSync(directory, { recursive: true, force: true }));
const model = resources.use(await startModelServer());
const server = resources.use(
  await ServerProcess.start({
    modelUrl: model.url,
    env: {
      // Two keys: with one alone nothing could belong to somebody else.
      API_SERVER_KEYS: `ada:${KEY},bob:sk-schemathesis-0000000002`,
      // Room for every requested run and slot.
      TALARIA_MAX_QUEUED_RUNS: '10000',
      TALARIA_SLOTS: 'true',
      TALARIA_MAX_SLOTS: '10000',
      TALARIA_MAX_SLOTS_PER_KEY: '10000',
    },
  }),
);

console.log(`schemathesis ${pinnedVersion(installation, 'schemathesis')} against ${server.url}`);
for (const phase of PHASES) if (!(await holds(phase))) process.exitCode = 1;

async function holds({ names, limitMs }: (typeof PHASES)[number]): Promise<boolean> {
  const reportPath = join(directory, `${names}.json`);
  const child = spawn(
    join(installation.directory, 'bin/schemathesis'),
    [
      ...['--config-file', CONFIG, 'run', `${server.url}/openapi.json`],
      ...['--phases', names, '--report-json-path', reportPath],
    ],
    { cwd: directory, env: { ...process.env, SCHEMATHESIS_KEY: KEY }, stdio: 'inherit' },
  );
  const timers = [
    setTimeout(() => child.kill('SIGINT'), limitMs),
    setTimeout(() => child.kill('SIGKILL'), limitMs + REPORT_LIMIT_MS),
  ];
  const [code] = (await once(child, 'exit')) as [number | null];
  for (const timer of timers) clearTimeout(timer);
  if (code !== INTERRUPTED) return code === 0;

  const { test_cases: cases, failures, errors } = JSON.parse(readFileSync(reportPath, 'utf8')) as Report;
  console.log(`${names}: interrupted after ${limitMs / 1000} s and ${cases.generated} requests`);
  return failures.length + errors.length === 0;
}

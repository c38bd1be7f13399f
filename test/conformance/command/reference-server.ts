/** The reference server, `hermes-agent` from PyPI, on a free port, with the suite's model and a home of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environment, isInstalled } from '../../compat/python/environments.ts';
import { freePort } from '../../support/free-port.ts';
import { waitFor } from '../../support/wait-for.ts';

const START_LIMIT_MS = 90_000;
const KEY = 'sk-conformance-reference-0001';

const installation = environment('hermes-agent');

export function hasReference(): boolean {
  return isInstalled(installation);
}

export interface ReferenceOptions {
  /** Where a model listens already, or will listen; a free port without it. */
  modelPort?: number;
  /** Further settings of its configuration. */
  settings?: object;
}

export class ReferenceServer implements AsyncDisposable {
  readonly key = KEY;
  readonly url: string;
  readonly modelPort: number;
  version = '';
  readonly #home = mkdtempSync(join(tmpdir(), 'talaria-reference-'));
  readonly #child: ChildProcess;
  #log = '';

  static async start({ modelPort, settings = {} }: ReferenceOptions = {}): Promise<ReferenceServer> {
    const server = new ReferenceServer(await freePort(), modelPort ?? (await freePort()), settings);
    try {
      await server.#ready();
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
    return server;
  }

  private constructor(port: number, modelPort: number, settings: object) {
    this.url = `http://127.0.0.1:${port}`;
    this.modelPort = modelPort;
    const workspace = join(this.#home, 'workspace');
    mkdirSync(workspace);
    // It reads the model only from its configuration. JSON is also YAML.
    const config = {
      model: {
        default: 'scripted',
        provider: 'custom',
        base_url: `http://127.0.0.1:${modelPort}/v1`,
        api_key: 'none',
        context_length: 128_000,
      },
      terminal: { backend: 'local', cwd: workspace },
      approvals: { mode: 'manual' },
      ...settings,
    };
    writeFileSync(join(this.#home, 'config.yaml'), JSON.stringify(config));
    this.#child = spawn(join(installation.directory, 'bin/hermes'), ['gateway', 'run'], {
      cwd: workspace,
      // A process group of its own, so that everything its tools have started ends with it.
      detached: true,
      env: {
        PATH: process.env.PATH,
        HOME: this.#home,
        HERMES_HOME: this.#home,
        API_SERVER_ENABLED: 'true',
        API_SERVER_HOST: '127.0.0.1',
        API_SERVER_PORT: String(port),
        API_SERVER_KEY: KEY,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#log = (this.#log + text).slice(-5_000);
      });
    }
  }

  get pid(): number {
    return this.#child.pid!;
  }

  async #ready(): Promise<void> {
    const check = async () => {
      if (this.#child.exitCode !== null) throw new Error(`The reference server has ended:\n${this.#log}`);
      const answer = await fetch(`${this.url}/health`).catch(() => undefined);
      return answer?.ok && ((await answer.json()) as { version: string });
    };
    const health = await waitFor('the reference server', check, START_LIMIT_MS).catch((error: Error) => {
      throw new Error(`${error.message}\n${this.#log}`);
    });
    this.version = health.version;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      process.kill(-this.#child.pid!, 'SIGKILL');
      await once(this.#child, 'exit');
    }
    rmSync(this.#home, { recursive: true, force: true });
  }
}

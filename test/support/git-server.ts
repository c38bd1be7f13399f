/** A real git server over HTTP: `git http-backend` behind node:http, with repositories that a test fills. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const IDENTITY = {
  GIT_AUTHOR_NAME: 'test',
  GIT_AUTHOR_EMAIL: 'test@example.com',
  GIT_COMMITTER_NAME: 'test',
  GIT_COMMITTER_EMAIL: 'test@example.com',
  GIT_CONFIG_GLOBAL: '/dev/null',
};

export interface SeenRequest {
  url: string;
  authorization: string | undefined;
}

export class GitServer implements AsyncDisposable {
  readonly requests: SeenRequest[] = [];
  /** If set, only requests with this `user:password` are answered. */
  credentials: string | undefined;
  /** If set, every request that would be answered is sent there, with its path. */
  redirectTo: string | undefined;
  readonly #root = mkdtempSync(join(tmpdir(), 'talaria-git-'));
  readonly #server: Server;

  static async start(): Promise<GitServer> {
    const server = new GitServer();
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  private constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Makes a repository by shell commands in a work tree; returns what they print. */
  create(name: string, commands: string): string {
    const work = mkdtempSync(join(this.#root, 'work-'));
    const env = { ...process.env, ...IDENTITY };
    const bare = join(this.#root, `${name}.git`);
    mkdirSync(bare);
    const script = `set -e; git init -q -b main; ${commands}; git clone -q --bare . ${bare}`;
    const printed = execFileSync('bash', ['-c', script], { cwd: work, env, encoding: 'utf8' });
    execFileSync('git', ['-C', bare, 'config', 'uploadpack.allowReachableSHA1InWant', 'true'], { env });
    rmSync(work, { recursive: true });
    return printed.trim();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { url = '', headers, method = '' } = request;
    const { authorization } = headers;
    this.requests.push({ url, authorization });
    const expected = this.credentials && `Basic ${Buffer.from(this.credentials).toString('base64')}`;
    if (expected !== undefined && authorization !== expected) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return;
    }
    if (this.redirectTo !== undefined) {
      response.writeHead(302, { location: this.redirectTo + url }).end();
      return;
    }
    const [path = '', query = ''] = url.split('?');
    const backend = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env.PATH,
        GIT_PROJECT_ROOT: this.#root,
        GIT_HTTP_EXPORT_ALL: '1',
        // The repositories may belong to another user than the one who serves them.
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: 'safe.directory',
        GIT_CONFIG_VALUE_0: '*',
        PATH_INFO: path,
        QUERY_STRING: query,
        REQUEST_METHOD: method,
        CONTENT_TYPE: headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: headers['content-encoding'] ?? '',
        GIT_PROTOCOL: String(headers['git-protocol'] ?? ''),
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    request.pipe(backend.stdin);
    const chunks: Buffer[] = [];
    backend.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    backend.stdin.on('error', () => {});
    backend.on('close', () => {
      const answer = Buffer.concat(chunks);
      const end = answer.indexOf('\r\n\r\n');
      for (const line of answer.toString('latin1', 0, end).split('\r\n')) {
        const [name = '', value = ''] = line.split(': ');
        if (name === 'Status') response.statusCode = Number.parseInt(value, 10);
        else response.setHeader(name, value);
      }
      response.end(answer.subarray(end + 4));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    rmSync(this.#root, { recursive: true, force: true });
  }
}

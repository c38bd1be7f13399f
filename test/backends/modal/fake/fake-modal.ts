/**
 * A fake of Modal's service on loopback: its control plane and its command router, as far as the driver uses them through
 * the unmodified SDK. Images are built and sandboxes run as real processes of this machine (images.ts, sandbox.ts). What it
 * cannot show is how the real service behaves where its protocol does not say.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandRouter } from './command-router.ts';
import { controlPlane } from './control-plane.ts';
import { Faults } from './faults.ts';
import { FakeImages } from './images.ts';
import { type Definition, FakeSandbox } from './sandbox.ts';
import { Service } from './service.ts';
import { Tokens } from './tokens.ts';

export class FakeModal implements AsyncDisposable {
  readonly tokenId = 'ak-test';
  readonly tokenSecret = 'as-secret-of-the-test';
  readonly faults = new Faults();
  readonly authTokens = new Tokens();
  readonly routerTokens = new Tokens();
  readonly sandboxes = new Map<string, FakeSandbox>();
  readonly images: FakeImages;
  readonly controlPlane: Service;
  readonly router: Service;
  /** Of a list of sandboxes. */
  pageSize = 2;
  /** Whether streams send little at a time. */
  slowly = false;
  /** Programs that are missing in sandboxes. Without those that make namespaces, sandboxes are as under gVisor. */
  without: readonly string[] = [];
  readonly #dir: string;
  #count = 0;

  private constructor(dir: string) {
    this.#dir = dir;
    this.images = new FakeImages(join(dir, 'images'));
    this.controlPlane = new Service(
      'control-plane.proto',
      'modal.client.ModalClient',
      controlPlane(this),
      this.faults,
    );
    this.router = new Service(
      'command-router.proto',
      'modal.task_command_router.TaskCommandRouter',
      commandRouter(this),
      this.faults,
    );
  }

  static async start(): Promise<FakeModal> {
    const fake = new FakeModal(await mkdtemp(join(tmpdir(), 'talaria-modal-')));
    await fake.controlPlane.start();
    await fake.router.start();
    return fake;
  }

  /** For Modal's SDK. */
  get environment(): Record<string, string> {
    return {
      MODAL_SERVER_URL: `http://127.0.0.1:${this.controlPlane.port}`,
      MODAL_TOKEN_ID: this.tokenId,
      MODAL_TOKEN_SECRET: this.tokenSecret,
      // Nobody's own settings.
      MODAL_CONFIG_PATH: '/nonexistent',
    };
  }

  running(): FakeSandbox[] {
    return [...this.sandboxes.values()].filter(({ result }) => result === undefined);
  }

  routerAccess(): { jwt: string; url: string } {
    return { jwt: this.routerTokens.issue(), url: `https://127.0.0.1:${this.router.port}` };
  }

  async createSandbox(
    appId: string,
    definition: Definition,
    tags: Record<string, string>,
  ): Promise<FakeSandbox> {
    // Not of the form that the SDK takes for a sandbox of the first version.
    const id = `sb-${String(this.#count++).padStart(26, '0')}`;
    const dir = join(this.#dir, id);
    await this.images.unpack(definition.imageId, dir);
    const createdAt = Date.now() + this.#count / 1000;
    const parts = { id, taskId: `ta-${id}`, appId, createdAt, definition, tags, dir, without: this.without };
    const sandbox = await FakeSandbox.start(parts);
    this.sandboxes.set(id, sandbox);
    return sandbox;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const sandbox of this.sandboxes.values()) await sandbox.remove();
    this.controlPlane.stop();
    this.router.stop();
    await rm(this.#dir, { recursive: true, force: true });
  }
}

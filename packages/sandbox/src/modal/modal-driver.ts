/**
 * Sandboxes of Modal as containers. This machine and a sandbox share nothing, so workspaces travel, and the server inside is
 * reached through a relay: one command in the sandbox whose streams carry every connection.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type {
  ContainerDriver,
  ContainerRequest,
  DriverLimits,
  Examined,
  ListedContainer,
  Reached,
} from '../containers/container-driver.ts';
import { SERVER_KILLED } from '../containers/first-process.ts';
import { FAR_ANSWERS_WITHIN_MS, reachByRelay } from '../containers/relay/reach-by-relay.ts';
import { SandboxError } from '../errors.ts';
import type { ConnectedModal } from './connect-modal.ts';
import { ExecStream } from './exec-stream.ts';
import { INSIDE, imageLayer } from './image-layer.ts';
import type { ModalImage, ModalSandbox } from './modal-sdk.ts';
import { programFiles } from './program-files.ts';
import { RELAY_COMMAND, type SandboxSettings, sandboxParams } from './sandbox-params.ts';
import { labelled, labelTags } from './tags.ts';
import { within } from './within.ts';

/** A first build pulls the image. */
const BUILD_WITHIN_MS = 15 * 60_000;
const CREATE_WITHIN_MS = 5 * 60_000;
const ANSWER_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 500;
const PRINTED_CHARACTERS = 4_000;

export interface ModalDriverOptions extends SandboxSettings {
  appName: string;
  image: string;
  /** How long Modal may take for an answer to a simple question; a minute by default. */
  answerWithinMs?: number | undefined;
  connect(): Promise<ConnectedModal>;
}

/** A sandbox that this process has started. */
interface Started {
  sandbox: ModalSandbox;
  printed: string;
}

export class ModalDriver implements ContainerDriver {
  readonly name = 'modal';
  readonly title = 'Modal';
  readonly source: string;
  readonly workspaces = { on: 'container' } as const;
  readonly answersWithinMs = FAR_ANSWERS_WITHIN_MS;
  readonly workspacesDir = INSIDE.workspaces;
  readonly readyWithinMs = CREATE_WITHIN_MS;
  readonly #options: ModalDriverOptions;
  readonly #started = new Map<string, Started>();
  #connection: Promise<ConnectedModal> | undefined;
  #image: ModalImage | undefined;

  constructor(options: ModalDriverOptions) {
    this.#options = options;
    this.source = `the image ${options.image}`;
  }

  async prepare(): Promise<DriverLimits> {
    try {
      const { client, app } = await this.#connected();
      const base = client.images.fromRegistry(this.#options.image);
      const layered = base.dockerfileCommands(imageLayer(programFiles()));
      this.#image = await within(BUILD_WITHIN_MS, 'build the image', layered.build(app));
    } catch (error) {
      if (error instanceof SandboxError) throw error;
      const message = `Modal cannot be used: ${(error as Error).message}`;
      throw new SandboxError('backend_down', message, { cause: error });
    }
    return { memoryBytes: true, cpus: true };
  }

  async start(request: ContainerRequest, signal: AbortSignal): Promise<string> {
    const { client, app } = await this.#connected();
    const image = this.#image;
    if (!image) throw new Error('the driver is not prepared');
    const params = sandboxParams(request, this.#options);
    // Not aborted: the service might continue and leave a sandbox that we do not know.
    const sandbox = await within(
      CREATE_WITHIN_MS,
      'create a sandbox',
      client.sandboxes.create(app, image, params),
    );
    const started: Started = { sandbox, printed: '' };
    this.#started.set(request.name, started);
    void listen(started);
    signal.throwIfAborted();
    return sandbox.sandboxId;
  }

  async reach({ name }: ContainerRequest, signal: AbortSignal): Promise<Reached> {
    const sandbox = await this.#find(name);
    if (!sandbox) throw new Error(`there is no sandbox ${name}`);
    const exec = sandbox.exec(RELAY_COMMAND, { mode: 'binary', stderr: 'ignore' });
    const relay = await this.#answer('run the relay', exec);
    return await reachByRelay(new ExecStream(relay), signal);
  }

  async ended(name: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      const sandbox = await this.#find(name);
      if (!sandbox || (await this.#answer('look at a sandbox', sandbox.poll())) !== null) return;
      await delay(LOOK_EVERY_MS, undefined, { signal });
    }
  }

  async examine(name: string): Promise<Examined> {
    const started = this.#started.get(name);
    if (!started) throw new Error(`there is no sandbox ${name}`);
    const code = await this.#answer('look at a sandbox', started.sandbox.poll());
    return { outOfMemory: code === SERVER_KILLED, printed: started.printed };
  }

  async list(label: string, value: string): Promise<ListedContainer[]> {
    const { client, app } = await this.#connected();
    const found: ListedContainer[] = [];
    const tags = labelTags({ [label]: value });
    const sandboxes = client.sandboxes.list({ appId: app.appId, tags })[Symbol.asyncIterator]();
    for (;;) {
      const next = await this.#answer('list sandboxes', sandboxes.next());
      if (next.done) return found;
      const container = labelled(await this.#answer('tell the tags of a sandbox', next.value.getTags()));
      // Modal lists only those that run.
      if (container) found.push({ ...container, ended: false });
    }
  }

  async remove(name: string): Promise<void> {
    const sandbox = await this.#find(name);
    if (!sandbox) return;
    await this.#answer('end a sandbox', sandbox.terminate({ wait: true }));
    sandbox.detach();
    this.#started.delete(name);
  }

  #answer<T>(what: string, work: Promise<T>): Promise<T> {
    return within(this.#options.answerWithinMs ?? ANSWER_WITHIN_MS, what, work);
  }

  /** Works before `prepare`, too: the backend removes what a crash left even without a start. */
  async #connected(): Promise<ConnectedModal> {
    const connection = this.#connection ?? this.#options.connect();
    this.#connection = connection;
    return await connection.catch((error) => {
      if (this.#connection === connection) this.#connection = undefined;
      throw error;
    });
  }

  /** The sandbox of that name if it runs, or if this process has started it; otherwise undefined. */
  async #find(name: string): Promise<ModalSandbox | undefined> {
    const started = this.#started.get(name);
    if (started) return started.sandbox;
    const { sdk, client } = await this.#connected();
    try {
      return await this.#answer('find a sandbox', client.sandboxes.fromName(this.#options.appName, name));
    } catch (error) {
      if (error instanceof sdk.NotFoundError) return undefined;
      throw error;
    }
  }
}

/** Keeps the output, because Modal may delete it once the sandbox has ended. */
async function listen(started: Started): Promise<void> {
  try {
    for await (const text of started.sandbox.stderr)
      started.printed = (started.printed + text).slice(-PRINTED_CHARACTERS);
  } catch {
    // Keep the output that came until then.
  }
}

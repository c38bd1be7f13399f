/**
 * Modal's SDK for JavaScript, as far as it is used here. It is not installed with this package: it brings 45 others, most of
 * them for gRPC, and users of other backends do not need them. test/backends/modal checks these types against it.
 */
import { SandboxError } from '../errors.ts';

/** The npm tag `latest` of `modal` is another program, so the version belongs to the name. */
export const MODAL_SDK = 'modal@0.11.1';

export interface ModalSdk {
  readonly ModalClient: new (params: ModalClientParams) => ModalClient;
  readonly NotFoundError: new (message: string) => Error;
}

export interface ModalClientParams {
  tokenId?: string;
  tokenSecret?: string;
  environment?: string;
  logger: Record<'debug' | 'info' | 'warn' | 'error', (message: string) => void>;
}

export interface ModalClient {
  readonly apps: { fromName(name: string, params: { createIfMissing: boolean }): Promise<ModalApp> };
  readonly images: { fromRegistry(tag: string): ModalImage };
  readonly sandboxes: {
    create(app: ModalApp, image: ModalImage, params: ModalSandboxParams): Promise<ModalSandbox>;
    fromName(appName: string, name: string): Promise<ModalSandbox>;
    list(params: { appId: string; tags: Record<string, string> }): AsyncIterable<ModalSandbox>;
  };
}

export interface ModalApp {
  readonly appId: string;
}

export interface ModalImage {
  readonly imageId: string;
  dockerfileCommands(commands: string[]): ModalImage;
  build(app: ModalApp): Promise<ModalImage>;
}

/** `cpu` and `memoryMiB` are reserved; a sandbox can get more, up to the limits. */
export interface ModalSandboxParams {
  name: string;
  tags: Record<string, string>;
  command: string[];
  timeoutMs: number;
  blockNetwork: boolean;
  regions?: string[];
  cpu?: number;
  cpuLimit?: number;
  memoryMiB?: number;
  memoryLimitMiB?: number;
}

export interface ModalSandbox {
  readonly sandboxId: string;
  readonly stderr: ReadableStream<string>;
  exec(command: string[], params: { mode: 'binary'; stderr: 'ignore' }): Promise<ModalProcess>;
  getTags(): Promise<Record<string, string>>;
  /** The exit code; null while it runs. */
  poll(): Promise<number | null>;
  terminate(params: { wait: true }): Promise<number>;
  /** Closes what this process has open for it. */
  detach(): void;
}

export interface ModalProcess {
  readonly stdin: WritableStream<Uint8Array>;
  readonly stdout: ReadableStream<Uint8Array>;
}

export async function loadModalSdk(): Promise<ModalSdk> {
  // In a variable, so that no tool looks for a package that need not be installed.
  const name = 'modal';
  try {
    const sdk: Partial<ModalSdk> = await import(name);
    if (sdk.ModalClient && sdk.NotFoundError) return sdk as ModalSdk;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new SandboxError(
      'backend_down',
      `Modal's SDK is not installed: run npm install ${MODAL_SDK} beside this program.`,
    );
  }
  throw new SandboxError(
    'backend_down',
    `The package modal that is installed here is not Modal's SDK: run npm install ${MODAL_SDK}.`,
  );
}

/** Slots in sandboxes of Modal. HOW_IT_WORKS.md tells how the parts play together. */
import { ContainerBackend } from '../containers/container-backend.ts';
import type { ContainerBackendOptions } from '../containers/container-options.ts';
import { connectModal } from './connect-modal.ts';
import { ModalDriver } from './modal-driver.ts';
import type { ModalSdk } from './modal-sdk.ts';

export const MODAL_DEFAULTS = {
  app: 'talaria',
  image: 'debian:13',
  reservedCpus: 0.25,
  reservedMemoryMb: 512,
  /** The longest that Modal allows. */
  lifetimeS: 24 * 3600,
} as const;

export interface ModalBackendOptions extends ContainerBackendOptions {
  /** If absent, these three are read from the environment and from ~/.modal.toml, as Modal's own programs do. */
  tokenId?: string | undefined;
  tokenSecret?: string | undefined;
  environment?: string | undefined;
  /** The Modal app of the sandboxes; created if missing. */
  app?: string | undefined;
  /** A Linux image of a registry, with glibc, libstdc++ and a shell. Node and the program inside are added to it. */
  image?: string | undefined;
  /** The regions in which sandboxes may run; anywhere by default. */
  regions?: readonly string[] | undefined;
  /** The resources that each sandbox reserves, and costs at least; `limits` says how much it can get. */
  reservedCpus?: number | undefined;
  reservedMemoryMb?: number | undefined;
  /** After this a sandbox ends, whatever runs in it. */
  lifetimeS?: number | undefined;
  /** Modal's SDK, if it is not installed beside this package. */
  sdk?: ModalSdk | undefined;
}

export class ModalBackend extends ContainerBackend {
  constructor({
    app,
    image,
    regions,
    reservedCpus,
    reservedMemoryMb,
    lifetimeS,
    ...options
  }: ModalBackendOptions) {
    const appName = app ?? MODAL_DEFAULTS.app;
    const driver = new ModalDriver({
      appName,
      image: image ?? MODAL_DEFAULTS.image,
      regions: regions ?? [],
      cpus: reservedCpus ?? MODAL_DEFAULTS.reservedCpus,
      memoryMb: reservedMemoryMb ?? MODAL_DEFAULTS.reservedMemoryMb,
      lifetimeS: lifetimeS ?? MODAL_DEFAULTS.lifetimeS,
      connect: () => connectModal({ ...options, appName }),
    });
    super(driver, options);
  }
}

/**
 * Whether the commands of a slot share a network. They do from the first background process on, so that a slot without
 * one pays nothing for it: each command then has its own network.
 */
import type { IsolationDriver } from '../isolation/isolation-driver.ts';
import type { SlotNetwork } from '../isolation/slot-network.ts';

export class SharedNetwork {
  readonly #openNetwork: IsolationDriver['openNetwork'];
  #opening: Promise<string | undefined> | undefined;
  #network: SlotNetwork | undefined;

  /** Without `openNetwork` they share one in any case. */
  constructor(openNetwork: IsolationDriver['openNetwork']) {
    this.#openNetwork = openNetwork;
  }

  /** Resolves when commands that start from now on share it, or with the reason why they cannot. */
  share(): Promise<string | undefined> {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  get current(): SlotNetwork | undefined {
    return this.#network;
  }

  /** Call when no command of the slot is running or starting any more. */
  async close(): Promise<void> {
    await this.#opening;
    this.#network?.close();
    this.#network = undefined;
  }

  async #open(): Promise<string | undefined> {
    try {
      this.#network = await this.#openNetwork?.();
      return undefined;
    } catch (error) {
      return (error as Error).message.trim().replaceAll('\n', '; ');
    }
  }
}

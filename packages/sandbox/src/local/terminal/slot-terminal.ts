/** The terminal of one slot: at most one session, which tools share and which ends with the slot. */
import type { ToolContext } from '../tools/tool.ts';
import { TerminalError, TerminalSession, type TerminalSize } from './terminal-session.ts';

const DEFAULT_SIZE: TerminalSize = { columns: 120, rows: 40 };

export class SlotTerminal {
  #session: TerminalSession | undefined;
  #opening: Promise<TerminalSession> | undefined;

  /** The session, if there is one that has not ended. */
  get current(): TerminalSession | undefined {
    return this.#session?.isOver ? undefined : this.#session;
  }

  /**
   * The session, or a new one if there is none, or only one with another network. The size is for a new one. Rejects with a
   * `TerminalError`.
   */
  async open(context: ToolContext, size: Partial<TerminalSize> = {}): Promise<TerminalSession> {
    await this.#opening?.catch(() => {});
    const { current } = this;
    if (current && current.isCutOff === context.isCutOff) return current;
    this.#opening ??= this.#start(context, { ...DEFAULT_SIZE, ...size }, current);
    try {
      this.#session = await this.#opening;
      return this.#session;
    } finally {
      this.#opening = undefined;
    }
  }

  /** Ends it, also one that is starting. */
  async close(): Promise<void> {
    await this.#opening?.catch(() => {});
    await this.#session?.end();
    this.#session = undefined;
  }

  async #start(
    context: ToolContext,
    size: TerminalSize,
    earlier: TerminalSession | undefined,
  ): Promise<TerminalSession> {
    await earlier?.end();
    return TerminalSession.start(context, size).catch((error: Error) => {
      throw error instanceof TerminalError ? error : new TerminalError(error.message, { cause: error });
    });
  }
}

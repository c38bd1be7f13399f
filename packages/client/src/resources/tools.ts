/** Runs tools in this process, for runs that other clients started. */
import type { BegunCalls } from '../tools/begun-calls.ts';
import type { AnyClientTools, ClientTools } from '../tools/client-tool.ts';
import { type ServedRuns, type ServeOptions, ToolServer } from '../tools/serve-tools.ts';
import { checkShare } from '../tools/share.ts';

export class Tools {
  readonly #runs: ServedRuns;
  readonly #begun: BegunCalls;

  constructor(runs: ServedRuns, begun: BegunCalls) {
    this.#runs = runs;
    this.#begun = begun;
  }

  /**
   * Runs the calls of these tools for every run of the key that waits for one. Resolves when the signal aborts and the
   * calls in progress are answered. Waits for a server that is unreachable; a server that refuses (a wrong key) is an
   * error.
   */
  async serve<Schemas extends Record<string, object>>(
    options: { tools: ClientTools<Schemas> } & ServeOptions,
  ): Promise<void> {
    const { tools, ...others } = options;
    if (others.share !== undefined) checkShare(others.share);
    await new ToolServer(this.#runs, this.#begun, tools as unknown as AnyClientTools, others).serve();
  }
}

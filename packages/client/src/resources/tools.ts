/** Tools that this process runs, for runs of whoever has offered them to the model. */
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
   * Runs calls of these tools in whichever runs of the key wait for one. Returns when the signal ends it and the calls that
   * were being run are answered. A server that is away is waited for; one that refuses (a wrong key) is an error.
   */
  async serve<Schemas extends Record<string, object>>(
    options: { tools: ClientTools<Schemas> } & ServeOptions,
  ): Promise<void> {
    const { tools, ...others } = options;
    if (others.share !== undefined) checkShare(others.share);
    await new ToolServer(this.#runs, this.#begun, tools as unknown as AnyClientTools, others).serve();
  }
}

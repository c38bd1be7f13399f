/** What the fake is told to do wrong, by the names of its calls, and how often each was called. */
import { status } from '@grpc/grpc-js';

export interface Fault {
  /** A status code of gRPC; `UNAVAILABLE` by default. */
  code?: number;
  /** How often; once by default. */
  times?: number;
  /** `lost`: the call is carried out, and its answer does not arrive. */
  when?: 'before' | 'lost';
}

export class CallError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export class Faults {
  readonly calls = new Map<string, number>();
  readonly #planned = new Map<string, Required<Fault>>();

  plan(call: string, { code = status.UNAVAILABLE, times = 1, when = 'before' }: Fault = {}): void {
    this.#planned.set(call, { code, times, when });
  }

  async around<T>(call: string, work: () => Promise<T>): Promise<T> {
    this.calls.set(call, (this.calls.get(call) ?? 0) + 1);
    const fault = this.#next(call);
    if (fault?.when === 'before') throw new CallError(fault.code, 'refused by the test');
    const answer = await work();
    if (fault?.when === 'lost') throw new CallError(fault.code, 'the answer was lost by the test');
    return answer;
  }

  #next(call: string): Required<Fault> | undefined {
    const fault = this.#planned.get(call);
    if (!fault || fault.times === 0) return undefined;
    fault.times--;
    return fault;
  }
}

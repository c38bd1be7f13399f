/**
 * Fork bombs: a function that starts itself again in the background, or twice in one pipeline, directly
 * or through other functions. Plain recursion, and recursion with one call in a pipeline, are ordinary.
 */
import type { Budget } from '../budget.ts';
import type { Command, Part, Script } from '../parse/syntax.ts';

interface Calls {
  /** functions called, any way */
  all: Set<string>;
  /** called in the background */
  background: Set<string>;
  /** names called by the stages of one pipeline */
  pipelines: string[][];
}

export class CallGraph {
  readonly #calls = new Map<string, Calls>();
  readonly #budget: Budget;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  define(name: string, body: Command): void {
    const calls = this.#calls.get(name) ?? { all: new Set(), background: new Set(), pipelines: [] };
    this.#calls.set(name, calls);
    const called = collect([{ stages: [body], conditional: false, background: false }], calls, name, false);
    this.#budget.charge(called.length);
    for (const each of called) calls.all.add(each);
  }

  /** Whether some function multiplies itself without end. */
  multiplies(): boolean {
    for (const [name, calls] of this.#calls) {
      const returns = (callee: string) => callee === name || this.#reaches(callee, name);
      if ([...calls.background].some(returns)) return true;
      if (calls.pipelines.some((stages) => stages.filter(returns).length >= 2)) return true;
    }
    return false;
  }

  #reaches(from: string, to: string): boolean {
    this.#budget.charge(5);
    const seen = new Set<string>();
    const open = [from];
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      for (const callee of this.#calls.get(name)?.all ?? []) {
        this.#budget.charge(3);
        if (callee === to) return true;
        if (seen.has(callee)) continue;
        seen.add(callee);
        open.push(callee);
      }
    }
    return false;
  }
}

/** Every name that the script calls. */
function collect(script: Script, calls: Calls, self: string, background: boolean): string[] {
  const all: string[] = [];
  for (const pipeline of script) {
    const behind = background || pipeline.background;
    const stages: string[] = [];
    for (const command of pipeline.stages) {
      if (command.kind === 'simple') {
        const name = nameOf(command.words[0] ?? [], self);
        stages.push(name);
        if (behind) calls.background.add(name);
      } else if (command.kind === 'compound') {
        for (const body of command.bodies)
          for (const name of collect(body, calls, self, behind)) stages.push(name);
      }
    }
    if (pipeline.stages.length > 1) calls.pipelines.push(stages);
    for (const name of stages) all.push(name);
  }
  return all;
}

function nameOf(word: Part[], self: string): string {
  let name = '';
  for (const part of word) {
    if (part.kind === 'text') name += part.text;
    else if (part.kind === 'parameter' && (part.name === 'FUNCNAME' || part.name === '0')) name += self;
  }
  return name;
}

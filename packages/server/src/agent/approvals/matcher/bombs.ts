/**
 * Fork bombs: a function that starts itself again in the background, or twice in one pipeline, directly
 * or through other functions. Plain recursion, and recursion with one call in a pipeline, are ordinary.
 */
import type { Command, Part, Script } from './syntax.ts';

interface Calls {
  /** functions called, any way */
  all: Set<string>;
  /** called in the background */
  background: Set<string>;
  /** names called by the stages of one pipeline */
  pipelines: string[][];
}

const MAX_FUNCTIONS = 200;

export class CallGraph {
  readonly #calls = new Map<string, Calls>();

  define(name: string, body: Command): void {
    if (this.#calls.size >= MAX_FUNCTIONS) return;
    const calls: Calls = { all: new Set(), background: new Set(), pipelines: [] };
    collect([{ stages: [body], conditional: false, background: false }], calls, name, false, 0);
    const known = this.#calls.get(name);
    if (known) {
      calls.all = calls.all.union(known.all);
      calls.background = calls.background.union(known.background);
      calls.pipelines.push(...known.pipelines);
    }
    this.#calls.set(name, calls);
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
    const seen = new Set<string>();
    const open = [from];
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      for (const callee of this.#calls.get(name)?.all ?? []) {
        if (callee === to) return true;
        if (seen.has(callee)) continue;
        seen.add(callee);
        open.push(callee);
      }
    }
    return false;
  }
}

function collect(script: Script, calls: Calls, self: string, background: boolean, depth: number): void {
  if (depth > 40) return;
  for (const pipeline of script) {
    const behind = background || pipeline.background;
    const stages: string[] = [];
    for (const command of pipeline.stages) {
      if (command.kind === 'simple') {
        const name = nameOf(command.words[0] ?? [], self);
        calls.all.add(name);
        stages.push(name);
        if (behind) calls.background.add(name);
      } else if (command.kind === 'compound') {
        const inner: Calls = { all: new Set(), background: calls.background, pipelines: calls.pipelines };
        for (const body of command.bodies) collect(body, inner, self, behind, depth + 1);
        stages.push(...inner.all);
        calls.all = calls.all.union(inner.all);
      }
    }
    if (pipeline.stages.length > 1) calls.pipelines.push(stages);
  }
}

function nameOf(word: Part[], self: string): string {
  let name = '';
  for (const part of word) {
    if (part.kind === 'text') name += part.text;
    else if (part.kind === 'parameter' && (part.name === 'FUNCNAME' || part.name === '0')) name += self;
  }
  return name;
}

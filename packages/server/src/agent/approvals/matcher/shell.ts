/**
 * Walks a parsed command line in the order the shell would run it, keeping what is known in the Scope
 * and handing each command to the rules. Every branch is walked: which one runs is not known here.
 */

import { CallGraph } from './bombs.ts';
import { assignAll, runBuiltin } from './builtins.ts';
import { visibleCode } from './code-origin.ts';
import { examineCommand } from './commands.ts';
import { type ExpansionHost, expandFields } from './expand.ts';
import { NEVER } from './families.ts';
import type { CodeOrigin, Host } from './host.ts';
import { ENV, OPAQUE } from './marks.ts';
import { parse } from './parse.ts';
import { pathKey } from './paths.ts';
import { applyRedirects } from './redirects.ts';
import type { Input, Scope } from './scope.ts';
import { MAX_DEPTH } from './source.ts';
import type { Command, CompoundCommand, Pipeline, Problem, Script, SimpleCommand } from './syntax.ts';
import { inEveryWorld } from './worlds.ts';

const OUTPUT_LIMIT = 1_000_000;

export class Shell implements Host, ExpansionHost {
  readonly scope: Scope;
  readonly #graph = new CallGraph();
  /** Function bodies and aliases being walked; by body, since a function may redefine itself. */
  readonly #running = new Set<Command | string>();
  #processFiles = 0;
  readonly #readers = new Map<string, Script>();

  constructor(scope: Scope) {
    this.scope = scope;
  }

  /** Classifies a whole command line. */
  walk(text: string): void {
    this.#source(text);
    // A function that nothing here calls may be called by what comes later.
    for (const [name, definition] of this.scope.functions) {
      if (definition.called) continue;
      this.scope.positional = undefined;
      this.scope.quiet++;
      this.#call(name);
      this.scope.quiet--;
    }
    if (this.#graph.multiplies()) this.scope.never = NEVER.bomb;
  }

  /** Takes in what ran before: what it set stays known, what it did has been judged. */
  recall(text: string): void {
    const tooComplex = this.scope.keys.has('command too complex to inspect');
    this.walk(text);
    const spent = this.scope.limits.steps < 0 || this.scope.limits.characters < 0;
    this.scope.keys.clear();
    if (tooComplex || spent) this.scope.report('command too complex to inspect');
    this.scope.never = undefined;
    this.scope.positional = [];
    for (const definition of this.scope.functions.values()) definition.called = true;
  }

  run(argv: string[], input?: Input): string {
    // A long list of words passed on by wrapper after wrapper is copied each time.
    this.scope.limits.steps -= argv.length >> 5;
    if (argv.length === 0 || !this.scope.step()) return '';
    return this.#deeper(() => {
      const [name = ''] = argv;
      const args = argv.slice(1);
      let output = '';
      if (this.scope.functions.has(name)) {
        const before = this.scope.positional;
        this.scope.positional = args;
        output = this.#call(name, input);
        this.scope.positional = before;
      }
      const alias = this.scope.aliases.get(name);
      if (alias !== undefined && !this.#running.has(`alias ${name}`)) {
        this.#running.add(`alias ${name}`);
        this.code(`${alias} ${args.join(' ')}`, 'argument', undefined, input);
        this.#running.delete(`alias ${name}`);
      }
      runBuiltin(argv, this);
      const printed = examineCommand(argv, { input, host: this });
      return this.scope.functions.has(name) ? output + printed : printed;
    });
  }

  code(text: string, origin: CodeOrigin, positional?: string[], input?: Input): string {
    const { scope } = this;
    const visible = visibleCode(text, origin, scope);
    if (visible === undefined) return OPAQUE;
    return this.#deeper(() => {
      const before = scope.positional;
      if (positional) scope.positional = positional;
      const output = this.#source(visible, input);
      scope.positional = before;
      return output;
    });
  }

  read(path: string): string | undefined {
    return this.scope.files.get(pathKey(path, this.scope.cwd));
  }

  write(path: string, text: string): void {
    this.scope.files.set(pathKey(path, this.scope.cwd), text);
    const reader = this.#readers.get(path);
    if (reader) this.#apart(() => this.#script(reader, { text, via: 'pipe' }));
  }

  outputOf(script: Script): string {
    return this.#apart(() => this.#script(script, undefined));
  }

  processFile(script: Script, reads: boolean): string {
    const path = `/dev/fd/p${this.#processFiles++}`;
    if (reads) {
      // What will be written is not known yet; `write` walks the script again when it is.
      this.#readers.set(path, script);
      this.#apart(() => this.#script(script, { text: OPAQUE, via: 'pipe' }));
    } else {
      this.write(path, this.outputOf(script));
    }
    return path;
  }

  examine(script: Script): void {
    this.scope.quiet++;
    this.outputOf(script);
    this.scope.quiet--;
  }

  #source(text: string, input?: Input): string {
    const { scope } = this;
    const problems = new Set<Problem>();
    const script = parse(text, { depth: scope.depth, limits: scope.limits, problems });
    for (const problem of problems) scope.report(problem);
    const output = this.#script(script, input);
    // Where `sh` is not bash, `$'…'` is an ordinary quote and ends at the first apostrophe.
    if (scope.posix && text.includes("$'") && text.includes("\\'")) {
      const context = { depth: scope.depth, limits: scope.limits, problems: new Set<Problem>(), posix: true };
      scope.quiet++;
      this.#script(parse(text, context), input);
      scope.quiet--;
    }
    return output;
  }

  #script(script: Script, input: Input | undefined): string {
    let output = '';
    for (const pipeline of script) {
      if (this.scope.never) return output;
      const printed = this.#maybe(pipeline.conditional, () => this.#pipeline(pipeline, input));
      // Unknown after unknown is still unknown; not adding it keeps long scripts cheap.
      if (printed !== OPAQUE || !output.endsWith(OPAQUE)) output += printed;
      if (output.length > OUTPUT_LIMIT) output = OPAQUE;
    }
    return output;
  }

  #pipeline({ stages }: Pipeline, input: Input | undefined): string {
    const [only] = stages;
    if (only && stages.length === 1) {
      return only.kind === 'simple'
        ? inEveryWorld(this.scope, () => this.#simple(only, input))
        : this.#command(only, input);
    }
    return inEveryWorld(this.scope, () => {
      let text = '';
      for (const [i, stage] of stages.entries()) {
        const stdin: Input | undefined = i === 0 ? input : { text, via: 'pipe' };
        // Each stage is a subshell of its own; its assignments may still reach nothing or something.
        text = this.#maybe(true, () => this.#command(stage, stdin));
      }
      return text;
    });
  }

  #command(command: Command, input: Input | undefined): string {
    if (command.kind === 'simple') return this.#simple(command, input);
    if (!this.scope.step()) return '';
    if (command.kind === 'function') {
      this.#graph.define(command.name, command.body);
      this.scope.functions.set(command.name, { body: command.body, called: false });
      return '';
    }
    return this.#deeper(() => {
      const redirected = applyRedirects(command.redirects, input, this);
      const output = this.#compound(command, redirected.input);
      return this.#deliver(output, redirected.outputs);
    });
  }

  #compound(command: CompoundCommand, input: Input | undefined): string {
    const bodies = () => command.bodies.map((body) => this.#script(body, input)).join('');
    switch (command.form) {
      case 'group':
        return bodies();
      case 'subshell':
        return this.#apart(bodies);
      case 'arithmetic':
        for (const body of command.bodies) this.examine(body);
        return '';
      case 'test':
        for (const word of command.words ?? []) expandFields(word, this);
        for (const body of command.bodies) this.examine(body);
        return '';
      case 'branch':
        for (const word of command.words ?? []) expandFields(word, this);
        return this.#maybe(true, bodies);
      case 'loop':
        return this.#loop(command, bodies);
    }
  }

  #loop(command: CompoundCommand, bodies: () => string): string {
    const { scope } = this;
    if (command.variable !== undefined) {
      const fields = command.words
        ? command.words.flatMap((word) => expandFields(word, this))
        : (scope.positional ?? [ENV]);
      scope.assignEach(
        command.variable,
        fields.map((field) => [field]),
      );
    }
    return this.#maybe(true, () => {
      const before = scope.version;
      const output = bodies();
      // What the body assigned is in effect the second time round.
      return scope.version === before ? output : output + bodies();
    });
  }

  #simple(command: SimpleCommand, input: Input | undefined): string {
    if (!this.scope.step()) return '';
    const argv: string[] = [];
    for (const word of command.words) for (const field of expandFields(word, this)) argv.push(field);
    assignAll(command.assignments, argv.length > 0, this);
    const redirected = applyRedirects(command.redirects, input, this);
    const output = this.run(argv, redirected.input);
    const last = argv.at(-1);
    if (last !== undefined) this.scope.assign('_', [last], true);
    return this.#deliver(output, redirected.outputs);
  }

  #deliver(output: string, paths: string[]): string {
    if (paths.length === 0) return output;
    for (const path of paths) this.write(path, (this.read(path) ?? '') + output);
    return paths.some((path) => /^\/dev\/(?:stdout|stderr|tty|fd\/\d+)$/.test(path)) ? output : '';
  }

  #call(name: string, input?: Input): string {
    const definition = this.scope.functions.get(name);
    if (!definition || this.#running.has(definition.body)) return '';
    definition.called = true;
    this.#running.add(definition.body);
    const output = this.#maybe(true, () => this.#command(definition.body, input));
    this.#running.delete(definition.body);
    return output;
  }

  /** Walks what may not run, so its assignments add values instead of replacing them. */
  #maybe<T>(uncertain: boolean, walk: () => T): T {
    if (!uncertain) return walk();
    this.scope.conditional++;
    const result = walk();
    this.scope.conditional--;
    return result;
  }

  /** Walks a subshell: its `cd` ends with it. */
  #apart(walk: () => string): string {
    return this.#deeper(() => {
      const { cwd } = this.scope;
      const output = this.#maybe(true, walk);
      this.scope.cwd = cwd;
      return output;
    });
  }

  #deeper(walk: () => string): string {
    const { scope } = this;
    if (scope.depth >= MAX_DEPTH) {
      scope.report('command too complex to inspect');
      return OPAQUE;
    }
    scope.depth++;
    const output = walk();
    scope.depth--;
    return output;
  }
}

/**
 * Walks a parsed command line once, in the order the shell would run it, and has each command judged. Every branch is
 * walked: which one runs is not known here.
 */
import { ARGUMENT_COST, COMMAND_COST } from '../budget.ts';
import { NEVER } from '../families.ts';
import { parse } from '../parse/lists.ts';
import { MAX_DEPTH } from '../parse/source.ts';
import type {
  Assignment,
  Command,
  CompoundCommand,
  Problem,
  Script,
  SimpleCommand,
  Word,
} from '../parse/syntax.ts';
import type { CodeOrigin, Host } from '../rules/call.ts';
import { runProgram } from '../rules/commands.ts';
import { pathKey } from '../rules/paths.ts';
import { visibleCode } from '../rules/shells.ts';
import { assignVariable, evaluate } from '../rules/variables.ts';
import { CallGraph } from './bombs.ts';
import { type ExpansionHost, expandFields, expandValue } from './expand.ts';
import { ENV, REMOTE } from './marks.ts';
import { nameOrigin } from './name-origin.ts';
import { applyRedirects } from './redirects.ts';
import type { Input, Scope } from './scope.ts';

/** A loop over more values is walked once for all of them. */
const MAX_ROUNDS = 8;

export class Shell implements Host, ExpansionHost {
  readonly scope: Scope;
  #graph: CallGraph;
  /** Function bodies and aliases being walked. */
  readonly #running = new Set<Command | string>();
  #processFiles = 0;

  constructor(scope: Scope) {
    this.scope = scope;
    this.#graph = new CallGraph(scope.budget);
  }

  /** Judges a whole command line. */
  walk(text: string): void {
    this.#source(text, undefined);
    if (this.#graph.multiplies()) this.scope.never = NEVER.bomb;
  }

  /** Walks an earlier command for what it set. Its verdict was given when it ran. */
  recall(text: string): void {
    const { scope } = this;
    const { functions, aliases, cwd } = scope;
    scope.functions = new Map(functions);
    scope.aliases = new Map(aliases);
    this.walk(text);
    // A command that never runs has set nothing.
    if (scope.never !== undefined || scope.denied !== undefined)
      Object.assign(scope, { functions, aliases, cwd });
    this.#graph = new CallGraph(scope.budget);
    scope.keys.clear();
    scope.askedRules.clear();
    scope.never = undefined;
    scope.denied = undefined;
  }

  run(argv: string[], input?: Input, local = false): string {
    const { scope } = this;
    scope.budget.charge(argv.length + COMMAND_COST);
    const [name, ...args] = argv;
    if (name === undefined) return '';
    return this.#deeper(() => {
      const body = scope.functions.get(name);
      if (body) return this.#call(body, args, input);
      const alias = scope.aliases.get(name);
      if (alias !== undefined && !this.#running.has(name)) {
        this.#running.add(name);
        const output = this.code(`${alias} ${args.join(' ')}`, 'argument', undefined, input);
        this.#running.delete(name);
        return output;
      }
      return runProgram({ name, args, input, host: this }, local);
    });
  }

  code(text: string, origin: CodeOrigin, positional?: string[], input?: Input): string {
    const { scope } = this;
    const visible = visibleCode(text, origin, scope);
    if (visible === undefined) return ENV;
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
  }

  outputOf(script: Script): string {
    return this.#apart(() => this.#script(script, undefined));
  }

  processFile(script: Script, reads: boolean): string {
    const path = `/dev/fd/p${this.#processFiles++}`;
    if (reads) this.#apart(() => this.#script(script, { text: ENV, via: 'pipe' }));
    else this.write(path, this.outputOf(script));
    return path;
  }

  expandOnly(script: Script): void {
    for (const { stages } of script) {
      for (const stage of stages) {
        if (stage.kind === 'function') continue;
        for (const word of stage.words ?? []) this.#evaluated(word);
        if (stage.kind === 'compound') for (const body of stage.bodies) this.expandOnly(body);
        else for (const { value } of stage.assignments) this.#evaluated(value);
        for (const { target } of stage.redirects) this.#evaluated(target);
      }
    }
  }

  /** A word of arithmetic or of a test: what it quotes would be run. */
  #evaluated(word: Word): void {
    this.scope.budget.charge(ARGUMENT_COST);
    for (const text of expandFields(word, this)) evaluate(text, this);
  }

  #source(text: string, input: Input | undefined): string {
    const { scope } = this;
    const problems = new Set<Problem>();
    const context = { depth: scope.depth, budget: scope.budget, problems };
    const script = parse(text, context);
    for (const problem of problems) scope.report(problem);
    const output = this.#script(script, input);
    // Where `sh` is not bash, `$'…'` is an ordinary quote and ends at the first apostrophe.
    if (scope.posix && text.includes("$'") && text.includes("\\'")) {
      this.#script(parse(text, { ...context, posix: true }), input);
    }
    return output;
  }

  #script(script: Script, input: Input | undefined): string {
    let output = '';
    for (const { stages, conditional } of script) {
      const printed = this.#maybe(conditional, () => this.#pipeline(stages, input));
      // Unknown after unknown is still unknown.
      if (printed !== ENV || !output.endsWith(ENV)) output += printed;
      this.scope.budget.charge(printed.length);
    }
    return output;
  }

  #pipeline(stages: Command[], input: Input | undefined): string {
    if (stages.length === 1) return this.#command(stages[0]!, input);
    let text = '';
    for (const [i, stage] of stages.entries()) {
      const stdin: Input | undefined = i === 0 ? input : { text, via: 'pipe' };
      text = this.#maybe(true, () => this.#command(stage, stdin));
    }
    return text;
  }

  #command(command: Command, input: Input | undefined): string {
    if (command.kind === 'simple') return this.#simple(command, input);
    if (command.kind === 'function') {
      this.#define(command.name, command.body);
      return '';
    }
    return this.#deeper(() => {
      const redirected = applyRedirects(command.redirects, input, this);
      return this.#deliver(this.#compound(command, redirected.input), redirected.outputs);
    });
  }

  #compound(command: CompoundCommand, input: Input | undefined): string {
    const bodies = () => command.bodies.map((body) => this.#script(body, input)).join('');
    switch (command.form) {
      case 'group':
        return bodies();
      case 'subshell':
        return this.#apart(bodies);
      case 'test':
      case 'arithmetic':
        for (const word of command.words ?? []) this.#evaluated(word);
        for (const body of command.bodies) {
          this.expandOnly(body);
          // Shells without these forms run what is in them.
          if (this.scope.posix) this.#script(body, undefined);
        }
        return '';
      case 'branch':
        for (const word of command.words ?? []) expandFields(word, this);
        return this.#maybe(true, bodies);
      case 'loop':
        return this.#loop(command, bodies);
    }
  }

  #loop({ variable, words }: CompoundCommand, bodies: () => string): string {
    const { scope } = this;
    const fields = words ? words.flatMap((word) => expandFields(word, this)) : (scope.positional ?? [ENV]);
    // A pattern matches files, and the matcher does not see the file system.
    const seen = fields.map((field) =>
      /[\uE006\uE007]/.test(field) && !/^[/\uE005]/.test(field) ? ENV : field,
    );
    for (const field of fields) scope.budget.charge(field.length + 1);
    const values = [...new Set(seen)];
    return this.#maybe(true, () => {
      if (variable !== undefined && values.length > 1 && values.length <= MAX_ROUNDS) {
        return values.map((value) => this.#round(variable, value, bodies)).join('');
      }
      if (variable !== undefined) scope.assignEach(variable, values);
      const before = scope.version;
      const output = bodies();
      // The second round sees what the first one assigned.
      return scope.version === before ? output : bodies();
    });
  }

  #round(variable: string, value: string, bodies: () => string): string {
    this.scope.assign(variable, [value], true);
    return bodies();
  }

  #simple(command: SimpleCommand, input: Input | undefined): string {
    const { scope } = this;
    const argv: string[] = [];
    for (const [i, word] of command.words.entries()) {
      const fields = expandFields(word, this);
      if (argv.length === 0 && (fields.length > 0 || i === command.words.length - 1)) {
        const reason = nameOrigin(word, fields, scope);
        if (reason) scope.report(reason);
      }
      for (const field of fields) argv.push(field);
    }
    for (const assignment of command.assignments) this.#assign(assignment, argv.length > 0);
    const redirected = applyRedirects(command.redirects, input, this);
    return this.#deliver(this.run(argv, redirected.input), redirected.outputs);
  }

  #assign({ name, index, append, value, items }: Assignment, forOneCommand: boolean): void {
    const { scope } = this;
    const added = items
      ? items.flatMap((item) => expandFields(withoutIndex(item), this))
      : [expandValue(value, this)];
    const old = append || index ? (scope.lookup(name)?.[0] ?? []) : [];
    const next = items || index ? [...old, ...added] : [`${append ? (old[0] ?? '') : ''}${added[0]}`];
    scope.assign(name, next, !forOneCommand && scope.conditional === 0);
    for (const each of added) assignVariable(name, each, this);
  }

  #deliver(output: string, paths: string[]): string {
    if (paths.length === 0) return output;
    for (const path of paths) {
      const before = this.read(path) ?? '';
      this.scope.budget.charge(before.length + output.length);
      this.write(path, before + output);
      if (path.startsWith('/dev/fd/p') && output.includes(REMOTE))
        this.scope.report('pipe remote content to shell');
    }
    return paths.some((path) => /^\/dev\/(?:stdout|stderr|tty|fd\/\d+)$/.test(path)) ? output : '';
  }

  /** A function is judged where it is defined, with unknown arguments, and again where it is called. */
  #define(name: string, body: Command): void {
    this.#graph.define(name, body);
    this.scope.functions.set(name, body);
    this.#call(body, undefined, undefined);
  }

  #call(body: Command, args: string[] | undefined, input: Input | undefined): string {
    const { scope } = this;
    if (this.#running.has(body)) return ENV;
    this.#running.add(body);
    const before = scope.positional;
    scope.positional = args;
    const output = this.#maybe(true, () => this.#command(body, input));
    scope.positional = before;
    this.#running.delete(body);
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
      return ENV;
    }
    scope.depth++;
    const output = walk();
    scope.depth--;
    return output;
  }
}

/** `[0]=rm` inside `name=(…)` is the element `rm`. */
function withoutIndex(item: Word): Word {
  const [first, ...rest] = item;
  if (first?.kind !== 'text' || first.quoted) return item;
  return [{ ...first, text: first.text.replace(/^\[[^\]]*\]=/, '') }, ...rest];
}

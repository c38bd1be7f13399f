/**
 * A table of system calls, as our programs run it (machine-code.ts), with the text and bytes that the calls point to behind
 * it. It is made for one address, where the program finds it.
 *
 * A call that fails leads to the label `refused`, unless its step names another; every other result leads to the next
 * step. So a table needs a step `refused`, and its last step must not return.
 */
import { type Architecture, type CallName, callNumber } from './call-numbers.ts';
import { MEMORY } from './executable.ts';

const WORD_BYTES = 8;
/** The call, six arguments, which of them are addresses of the real ones, where the result goes, and three successors. */
const ENTRY_BYTES = 12 * WORD_BYTES;
const SUBTRACT = -1;

/** A word of memory. As an argument it stands for its value at the time of the call; only the first four may be words. */
export class Word {
  readonly address: number;

  constructor(address: number) {
    this.address = address;
  }
}

/** The arguments and the environment that a program was started with. */
export const FIRST_ARGUMENT = new Word(MEMORY);
export const ARGUMENTS = new Word(MEMORY + 8);
export const ENVIRONMENT = new Word(MEMORY + 16);
/** Two words that are the program's own, the address of the step it made last, and the result of that step. */
export const STATE = MEMORY + 24;
const LAST_RESULT = new Word(MEMORY + 48);
/** From this address on the memory is also the program's own. */
export const FREE_MEMORY = MEMORY + 256;

/** A list of texts as the kernel takes it: addresses, and a zero at the end. */
export class TextList {
  readonly texts: readonly string[];

  constructor(texts: readonly string[]) {
    this.texts = texts;
  }
}

/** A system call filter, as the kernel takes it: how many instructions there are, and where. */
export class Filter {
  readonly instructions: Buffer;

  constructor(instructions: Buffer) {
    this.instructions = instructions;
  }
}

/** Text, bytes, lists and filters are passed by their address. */
export type Argument = number | string | Buffer | Word | TextList | Filter;
export type Call = CallName | 'subtract';

/** A label of the table, or the address of a step in another one. */
export type Target = string | number;

export interface Branches {
  /** A name for this step. */
  label?: string;
  /** The word for the result. */
  to?: Word;
  ifNegative?: Target;
  ifZero?: Target;
  ifPositive?: Target;
}

export type Step = readonly [call: Call, args?: readonly Argument[], branches?: Branches];

/** Continues elsewhere. */
export function jump(target: Target): Step {
  return ['subtract', [0, 0], { ifZero: target }];
}

export interface Table {
  bytes: Buffer;
  /** The address of a step with this label. */
  addressOf(label: string): number;
  /** The name of the call at this address. */
  callAt(address: number): string | undefined;
}

export function callTable(steps: readonly Step[], address: number, architecture: Architecture): Table {
  const at = (index: number) => address + index * ENTRY_BYTES;
  const labels = new Map(
    steps.flatMap(([, , branches], index) => (branches?.label ? [[branches.label, at(index)] as const] : [])),
  );
  const addressOf = (target: Target) => {
    const found = typeof target === 'number' ? target : labels.get(target);
    if (found === undefined) throw new Error(`the table has no step ${target}`);
    return found;
  };
  const data = new DataSection(at(steps.length));
  const entries = steps.map(([call, args = [], branches = {}], index) => {
    const next = at(index + 1);
    const { to = LAST_RESULT, ifNegative = 'refused', ifZero = next, ifPositive = next } = branches;
    const words = Array.from({ length: 6 }, (_, each) => data.wordFor(args[each] ?? 0));
    const byAddress = args.reduce<number>(
      (mask, each, bit) => mask | (each instanceof Word ? 1 << bit : 0),
      0,
    );
    return entry([
      ...[numberOf(call, architecture), ...words, byAddress, to.address],
      ...[ifNegative, ifZero, ifPositive].map(addressOf),
    ]);
  });
  return {
    bytes: Buffer.concat([...entries, data.content()]),
    addressOf,
    callAt: (where) => steps[(where - address) / ENTRY_BYTES]?.[0],
  };
}

function numberOf(call: Call, architecture: Architecture): number {
  if (call === 'subtract') return SUBTRACT;
  const number = callNumber(call, architecture);
  if (number === undefined) throw new Error(`${architecture} has no system call ${call}`);
  return number;
}

function entry(words: readonly number[]): Buffer {
  const bytes = Buffer.alloc(ENTRY_BYTES);
  for (const [index, word] of words.entries()) bytes.writeBigInt64LE(BigInt(word), index * WORD_BYTES);
  return bytes;
}

/** The data that arguments point to; it follows the entries. */
class DataSection {
  readonly #parts: Buffer[] = [];
  #end: number;

  constructor(address: number) {
    this.#end = address;
  }

  wordFor(argument: Argument): number {
    if (typeof argument === 'number') return argument;
    if (argument instanceof Word) return argument.address;
    if (typeof argument === 'string') return this.#add(Buffer.from(`${argument}\0`));
    if (argument instanceof TextList) {
      return this.#add(words([...argument.texts.map((text) => this.wordFor(text)), 0]));
    }
    if (argument instanceof Filter) {
      const { instructions } = argument;
      return this.#add(words([instructions.length / 8, this.#add(instructions)]));
    }
    return this.#add(argument);
  }

  content(): Buffer {
    return Buffer.concat(this.#parts);
  }

  #add(bytes: Buffer): number {
    const address = this.#end;
    const padding = Buffer.alloc(-bytes.length & (WORD_BYTES - 1));
    this.#parts.push(bytes, padding);
    this.#end += bytes.length + padding.length;
    return address;
  }
}

/** Numbers as the kernel reads them from memory. */
export function words(numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(numbers.length * WORD_BYTES);
  for (const [index, number] of numbers.entries()) bytes.writeBigInt64LE(BigInt(number), index * WORD_BYTES);
  return bytes;
}

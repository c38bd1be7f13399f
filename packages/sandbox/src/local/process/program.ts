/** The program of a command. Either this process starts it (spawn-program.ts) or a keeper (keeper/). */
import type { NamedPipe, PipeStock } from './pipe-stock.ts';

/** The end of a pipe to read from, and the name of the pipe in the directory of the stock. */
export interface InputEnd {
  fd: number;
  name: string;
}

export interface CommandIo {
  /** Read by the program from descriptor 3. */
  script: Uint8Array;
  /** A directory that commands cannot see, for the moment in which a script that is not in memory has a name. */
  scriptDir: string;
  pipes: PipeStock;
  /** The caller still owns it. Without it the input is at its end. */
  input: InputEnd | undefined;
  /** The program owns its write end and its name from its start on, whether or not that works. */
  output: NamedPipe;
  /** For standard error, owned like the output; without it standard error goes to the output. */
  errors: NamedPipe | undefined;
  /** Called when the program has its descriptors, if it gets that far. */
  onBegun(program: Program): void;
}

export interface Program {
  /** The root process of everything that it runs; undefined if there is none at the moment. */
  readonly pid: number | undefined;
  /** Rejects if it could not be started at all. */
  readonly exited: Promise<ProgramExit>;
  /** Ends everything that it has started; true when nothing is left. */
  end(): Promise<boolean>;
  /** Sends a signal to everything that the command has started and that still exists. */
  signal(signal: NodeJS.Signals): void;
}

export interface ProgramExit {
  /** As a shell reports it: 128 + n after signal n; null if nobody knows. */
  code: number | null;
  /** Nobody can say how it ended, or what it did. */
  isLost: boolean;
  /** False if the program ended before it had read the script: then the sandbox failed. */
  started: boolean;
  /** The program's own messages; empty unless it failed. */
  message(): string;
  /** How much it has written to disks; 0 if the kernel already counts that for this process. */
  writtenBytes: number;
}

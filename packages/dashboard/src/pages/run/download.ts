/**
 * Saves a file that may be large. The request needs a header with the key, so a plain link cannot do it. A small file is held
 * in memory and handed to the browser. A large one is written to disk as it comes, where the browser lets the user choose
 * a file for that (Chrome and Edge, with https or on this machine). Any other browser takes it in memory up to a limit.
 */
import { bytes } from '../../ui/format.ts';
import { saveBlob } from './save.ts';

/** Smaller ones are there at once, and ask nothing. */
const LARGE_BYTES = 50_000_000;
const MEMORY_MAX_BYTES = 500_000_000;

interface WritableFile {
  createWritable(): Promise<WritableStream<Uint8Array>>;
}

type PickFile = (options: { suggestedName: string }) => Promise<WritableFile>;

export interface Download {
  name: string;
  /** Undefined if nobody knows before. */
  size: number | undefined;
  /** How to get it from the command line. */
  command: string;
  read(signal: AbortSignal): Promise<Response>;
}

/** Call it in the event of a press, since the browser asks for a file only then. `onBytes` is told how many came. */
export async function download(
  { name, size, command, read }: Download,
  signal: AbortSignal,
  onBytes: (done: number) => void,
): Promise<void> {
  const { showSaveFilePicker: pick } = globalThis as { showSaveFilePicker?: PickFile };
  const isLarge = size === undefined || size > LARGE_BYTES;
  const file = isLarge ? await pick?.({ suggestedName: name }) : undefined;
  if (file === undefined && size !== undefined && size > MEMORY_MAX_BYTES) throw tooLarge(command);
  const { body } = await read(signal);
  const counted = (body ?? new Blob([]).stream()).pipeThrough(counter(onBytes));
  if (file !== undefined) return counted.pipeTo(await file.createWritable(), { signal });
  const parts: BlobPart[] = [];
  let held = 0;
  const memory = new WritableStream<Uint8Array<ArrayBuffer>>({
    write(part) {
      held += part.length;
      if (held > MEMORY_MAX_BYTES) throw tooLarge(command);
      parts.push(part);
    },
  });
  await counted.pipeTo(memory, { signal });
  saveBlob(name, new Blob(parts));
}

function counter(onBytes: (done: number) => void) {
  let done = 0;
  return new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(part, controller) {
      done += part.length;
      onBytes(done);
      controller.enqueue(part);
    },
  });
}

function tooLarge(command: string): Error {
  return new Error(
    `This is more than ${bytes(MEMORY_MAX_BYTES)}, which this browser would have to hold in memory. ` +
      `Chrome and Edge write it to disk, with https or on the server's machine. So does the command line: ${command}`,
  );
}

/** Calls a sweep, which deletes at most `batch` items and says how many, until it finds fewer. */
export async function sweepInBatches(
  sweep: (batch: number) => Promise<number>,
  batch: number,
  signal: AbortSignal,
): Promise<void> {
  let swept = batch;
  while (swept === batch && !signal.aborted) swept = await sweep(batch);
}

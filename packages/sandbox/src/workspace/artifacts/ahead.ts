/**
 * Prepares the next items while the present one is used; the results come in the order of the items. Everything
 * prepared is disposed of, used or not, however the loop ends.
 */
export async function* ahead<Item, Result extends AsyncDisposable>(
  items: AsyncIterable<Item>,
  width: number,
  prepare: (item: Item) => Promise<Result>,
): AsyncGenerator<Result, void> {
  const queue: Promise<Result>[] = [];
  try {
    for await (const item of items) {
      const prepared = prepare(item);
      // A failure is thrown when its turn comes; until then it must not count as unhandled.
      prepared.catch(() => {});
      queue.push(prepared);
      if (queue.length >= width) yield* taken(queue);
    }
    while (queue.length > 0) yield* taken(queue);
  } finally {
    const left = await Promise.allSettled(queue);
    for (const result of left) if (result.status === 'fulfilled') await result.value[Symbol.asyncDispose]();
  }
}

async function* taken<Result extends AsyncDisposable>(
  queue: Promise<Result>[],
): AsyncGenerator<Result, void> {
  await using first = await (queue.shift() as Promise<Result>);
  yield first;
}

/**
 * Works on several items at a time. The results come in the order of the items, and no more of them wait than are worked on. If one
 * fails, or the loop ends early, no further item is begun.
 */
export async function* mapAhead<Item, Result>(
  items: Iterable<Item>,
  width: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result, void> {
  const queue: Promise<Result>[] = [];
  for (const item of items) {
    const result = work(item);
    // A failure is thrown when its turn comes; until then it must not count as unhandled.
    result.catch(() => {});
    queue.push(result);
    if (queue.length >= width) yield await queue.shift()!;
  }
  for (const result of queue) yield await result;
}

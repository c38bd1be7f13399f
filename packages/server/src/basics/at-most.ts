/** Waits for work to end, but not for ever. What goes wrong in it is dealt with where its end is waited for. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => {}), over]);
  clearTimeout(timer);
}

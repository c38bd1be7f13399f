/** The calls that a client has begun to run and that may still be pending. None of them is begun a second time. */
export type BegunCalls = Set<string>;

export function keyOf(runId: string, toolCallId: string): string {
  return `${runId} ${toolCallId}`;
}

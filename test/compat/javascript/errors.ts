/** How a client reports an error: each library has its own name for the status, and some wrap the error in others. */
export async function statusOf(answer: Promise<unknown>): Promise<number | string> {
  try {
    await answer;
    return 'no error';
  } catch (error) {
    return statusIn(error) ?? String(error);
  }
}

/** The answer, or what the refusal says. */
export async function orRefusal(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    return { status: statusIn(error), message: (error as Error).message };
  }
}

export async function messageOf(answer: Promise<unknown>): Promise<string> {
  try {
    await answer;
    return '';
  } catch (error) {
    // Not the server's error but that of a loop which met an unexpected chunk.
    if (error instanceof TypeError) throw error;
    return (error as Error).message;
  }
}

interface WithStatus {
  status?: number;
  statusCode?: number;
  cause?: unknown;
  lastError?: unknown;
}

function statusIn(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { status, statusCode, cause, lastError } = error as WithStatus;
  return status ?? statusCode ?? statusIn(cause) ?? statusIn(lastError);
}

/** Turns a failure of the sandbox into the answer to a request. */
import { type ApiErrorCode, TalariaError } from '@talaria/protocol';
import { SandboxError, type SandboxErrorCode } from '@talaria/sandbox';

/** Everything else means that the sandbox does not work at the moment. */
const CODES: Partial<Record<SandboxErrorCode, ApiErrorCode>> = {
  invalid_path: 'invalid_path',
  artifact_not_found: 'artifact_not_found',
  artifact_changed: 'artifact_changed',
  artifact_too_large: 'artifact_too_large',
  invalid_request: 'invalid_request',
  slot_gone: 'slot_not_found',
  slot_not_closed: 'slot_not_closed',
};

const ABOUT_PATHS: ReadonlySet<ApiErrorCode> = new Set([
  'invalid_path',
  'artifact_not_found',
  'artifact_changed',
  'artifact_too_large',
]);

/** The sandbox has other ids for slots than clients. */
const ABOUT_SLOTS: ReadonlySet<ApiErrorCode> = new Set(['slot_not_found', 'slot_not_closed']);

/** By then a container, or the daemon, may be up again. */
const RETRY_AFTER_S = 5;

/** `mask` hides secrets: the message may quote what a container printed. */
export async function withSandboxCodes<T>(
  mask: (text: string) => string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof SandboxError ? toTalariaError(error, mask) : error;
  }
}

function toTalariaError(error: SandboxError, mask: (text: string) => string): TalariaError {
  const code = CODES[error.code] ?? 'sandbox_unavailable';
  return new TalariaError(code, {
    cause: error,
    ...(ABOUT_SLOTS.has(code) ? {} : { message: mask(error.message) }),
    ...(ABOUT_PATHS.has(code) && { param: 'path' }),
    ...(code === 'sandbox_unavailable' && { retryAfterS: RETRY_AFTER_S }),
  });
}

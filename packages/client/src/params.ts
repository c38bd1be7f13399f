/**
 * Request fields as a caller may give them: an optional field may be undefined, and fields that the protocol does not
 * know are passed on, for other servers and later versions.
 */
export type Params<T> = {
  [K in keyof T]: Record<never, never> extends Pick<T, K> ? T[K] | undefined : T[K];
} & { [field: string]: unknown };

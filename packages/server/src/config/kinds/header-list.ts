/**
 * A list of HTTP headers in the form OpenTelemetry gives it: `name=value,name=value`, values with `%`-escapes; in JSON
 * also `{"name": "value"}`, without any. Nearly every value is a credential, so a message names positions and never
 * values.
 */
import { HIDDEN, type Kind, type Read } from './kinds.ts';
import { secretsIn } from './plain-values.ts';

export interface Header {
  readonly name: string;
  readonly value: string;
}

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** The characters that a header value may have; a line break would end it. */
const VALUE = /^[\x20-\x7e]+$/;

export function headerList(): Kind<readonly Header[]> {
  return {
    name: 'secret list',
    allowed: 'name=value,name=value with names and values that HTTP headers can have',
    secret: true,
    fromText: readText,
    fromJson(json) {
      if (typeof json === 'string') return readText(json);
      if (typeof json !== 'object' || json === null || Array.isArray(json)) return { refused: '' };
      return readHeaders(Object.entries(json));
    },
    shown: () => HIDDEN,
    format: (headers) => headers.map(({ name }) => `${name}=${HIDDEN}`).join(','),
  };
}

/** The parts of these headers that must be masked. */
export function secretsInHeaders(headers: readonly Header[]): string[] {
  return headers.flatMap(({ name, value }) => secretsIn(name, value));
}

function readText(text: string): Read<readonly Header[]> {
  const entries = text.split(',').filter((entry) => entry.trim() !== '');
  return readHeaders(
    entries.map((entry) => {
      const at = entry.indexOf('=');
      return at < 0 ? [entry, undefined] : [entry.slice(0, at).trim(), unescaped(entry.slice(at + 1).trim())];
    }),
  );
}

function readHeaders(entries: readonly (readonly unknown[])[]): Read<readonly Header[]> {
  const headers: Header[] = [];
  for (const [index, [name, value]] of entries.entries()) {
    if (typeof name !== 'string' || typeof value !== 'string' || !NAME.test(name) || !VALUE.test(value)) {
      return { refused: `entry ${index + 1} is not a header` };
    }
    headers.push({ name, value });
  }
  return headers.length === 0 ? { refused: '' } : { value: headers };
}

function unescaped(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

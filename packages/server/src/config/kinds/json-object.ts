/** Settings that are JSON objects, in the file as such and elsewhere as text. */
import type { Read, ReadContext } from './kinds.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** How a kind reads both forms of its object. */
export function readsJsonObject<T>(read: (object: JsonObject, context: ReadContext) => Read<T>): {
  fromText(text: string, context: ReadContext): Read<T>;
  fromJson(json: unknown, context: ReadContext): Read<T>;
} {
  const fromJson = (json: unknown, context: ReadContext): Read<T> =>
    isJsonObject(json) ? read(json, context) : { refused: '' };
  return {
    fromText(text, context) {
      let json: unknown;
      try {
        json = JSON.parse(text);
      } catch {
        // The parser's own message quotes the text, which may be a secret.
        return { refused: 'it is not valid JSON' };
      }
      return fromJson(json, context);
    },
    fromJson,
  };
}

/** What is shown of a run in a response: without secrets, and without cutting it short. */
import { redactSecrets, redactValue } from './redact-secrets.ts';
import { maskSecrets } from './secret-filter.ts';

export interface Masking {
  /** What the model wrote: only values the server knows to be secret are masked, as in the deltas. */
  text(text: string): string;
  /** What a tool printed: also what merely looks like a secret. */
  shown(text: string): string;
  /** The same inside JSON, which stays JSON. */
  json(json: string): string;
}

export function createMasking(secrets: readonly string[]): Masking {
  const shown = (text: string): string => redactSecrets(text, secrets);
  return {
    text: (text) => maskSecrets(text, secrets),
    shown,
    json: (json) => {
      try {
        return JSON.stringify(redactValue(JSON.parse(json), shown));
      } catch {
        // Models write JSON that is none; it is shown as it was written.
        return shown(json);
      }
    },
  };
}

/** Kinds of values for webhooks. The contract is that of `kinds.ts`; a request may give the same values. */
import {
  parseWebhook,
  secretProblem,
  WEBHOOK_SECRET_MAX,
  WEBHOOK_SECRET_MIN,
  WEBHOOK_URL_MAX,
} from '@talaria/protocol';
import { HIDDEN, type Kind, type Read, secret, textKind } from './kinds.ts';

/** The URL of a receiver. Everything after its host may be a secret token. */
export function webhookUrl(): Kind<string> {
  return textKind({
    name: 'url',
    allowed: `an http:// or https:// URL of up to ${WEBHOOK_URL_MAX} characters without user name or password`,
    read(text) {
      try {
        return { value: parseWebhook({ url: text.trim() })!.url };
      } catch {
        return { refused: '' };
      }
    },
    format: showOrigin,
    shown: (given) => JSON.stringify(typeof given === 'string' ? showOrigin(given) : given),
  });
}

function showOrigin(text: string): string {
  const url = URL.parse(text);
  if (url === null) return HIDDEN;
  const host = url.host === '' ? HIDDEN : url.host;
  return `${url.protocol}//${host}/${url.pathname.length > 1 || url.search !== '' ? HIDDEN : ''}`;
}

export function webhookSecret(): Kind<string> {
  const kind = secret();
  const check = (read: Read<string>): Read<string> => {
    const problem = 'value' in read ? secretProblem(read.value) : undefined;
    return problem === undefined ? read : { refused: `it ${problem}` };
  };
  return {
    ...kind,
    allowed: `${WEBHOOK_SECRET_MIN} to ${WEBHOOK_SECRET_MAX} ${kind.allowed}; after whsec_ base64`,
    fromText: (text, context) => check(kind.fromText(text, context)),
    fromJson: (json, context) => check(kind.fromJson(json, context)),
  };
}

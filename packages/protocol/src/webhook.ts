import type { Static } from 'typebox';
import type { RunEvent } from './events.ts';
import type * as schemas from './schemas/webhooks.ts';

/** What a run shows about its webhook. */
export type RunWebhook = Static<typeof schemas.RunWebhookSchema>;

/** The events that a webhook gets. */
export type WebhookEventName = Static<typeof schemas.WebhookMessageSchema>['type'];

/** The message to a receiver; `data` is the event as the stream shows it. */
export type WebhookMessage = {
  [N in WebhookEventName]: Omit<Static<typeof schemas.WebhookMessageSchema>, 'type' | 'data'> & {
    type: N;
    data: Extract<RunEvent, { event: N }>;
  };
}[WebhookEventName];

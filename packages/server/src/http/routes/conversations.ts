/** `/v1/conversations`: sessions that clients of OpenAI's API create and add to (PROTOCOL.md). */
import { type ConversationDeleted, invalid, parseMetadata, parseObject } from '@talaria/protocol';
import type { FastifyInstance } from 'fastify';
import { resolveInput } from '../../responses/input-items.ts';
import type { ResponseRuns } from '../../responses/response-runs.ts';
import { parseJsonBody, parseOptionalJsonBody } from '../requests/json-body.ts';
import { itemPage } from '../responses/item-page.ts';

type ConversationRoute = { Params: { conversation_id: string } };
type ItemRoute = { Params: { conversation_id: string; item_id: string } };

const PATH = '/v1/conversations';
const ONE = `${PATH}/:conversation_id`;

export function installConversationRoutes(app: FastifyInstance, responses: ResponseRuns): void {
  const { conversations } = responses;
  const readItems = async (owner: string, items: unknown): Promise<unknown[]> =>
    (await resolveInput(responses, owner, parseItems(items), { param: 'items' })) as unknown[];

  app.post(PATH, async ({ owner, body }) => {
    const { metadata, items } = parseObject(parseOptionalJsonBody(body) ?? {});
    return conversations.create(owner, parseMetadata(metadata), await readItems(owner, items ?? []));
  });

  app.get<ConversationRoute>(ONE, async ({ owner, params }) =>
    conversations.get(owner, params.conversation_id),
  );

  app.post<ConversationRoute>(ONE, async ({ owner, params, body }) => {
    const { metadata } = parseObject(parseJsonBody(body));
    // It replaces the existing metadata: without it, everything would be lost.
    if (metadata === undefined) throw invalid('metadata', "Missing 'metadata' field");
    return conversations.update(owner, params.conversation_id, parseMetadata(metadata));
  });

  app.delete<ConversationRoute>(ONE, async ({ owner, params: { conversation_id: id } }) => {
    await conversations.delete(owner, id);
    return { id, object: 'conversation.deleted', deleted: true } satisfies ConversationDeleted;
  });

  app.get<ConversationRoute>(`${ONE}/items`, async ({ owner, params, query }) =>
    conversations.list(owner, params.conversation_id, itemPage(query)),
  );

  app.post<ConversationRoute>(`${ONE}/items`, async ({ owner, params, body }) => {
    const { items } = parseObject(parseJsonBody(body));
    return conversations.addItems(owner, params.conversation_id, await readItems(owner, items));
  });

  app.get<ItemRoute>(`${ONE}/items/:item_id`, async ({ owner, params }) =>
    conversations.item(owner, params.conversation_id, params.item_id),
  );

  app.delete<ItemRoute>(`${ONE}/items/:item_id`, async ({ owner, params }) =>
    conversations.deleteItem(owner, params.conversation_id, params.item_id),
  );
}

function parseItems(items: unknown): unknown[] {
  if (Array.isArray(items)) return items as unknown[];
  throw invalid('items', "'items' must be an array of items");
}

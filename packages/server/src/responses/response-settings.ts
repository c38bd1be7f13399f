/** What a response says about how it was made: as it was asked for, and as the server let it be. */
import type { CreateResponse, ModelSettings } from '@talaria/protocol';
import type { ResponseSettings } from '../journal/responses.ts';

/** How a response is shown to this client. */
export interface ResponseView {
  model: string;
  toolItems: ResponseSettings['tool_items'];
  tellsApprovals: boolean;
}

export function responseSettings(
  asked: CreateResponse,
  view: ResponseView,
  /** Those of the asked ones that the server lets clients set. */
  used: ModelSettings = {},
): ResponseSettings {
  const { previousResponseId, conversation, instructions, metadata, truncation, background, store } = asked;
  const { clientTools, outputForm } = asked;
  return {
    model: asked.model ?? view.model,
    previous_response_id: previousResponseId ?? null,
    conversation: conversation ?? null,
    instructions: instructions ?? null,
    metadata,
    truncation,
    background,
    store,
    used,
    tools: clientTools?.tools ?? [],
    tool_choice: clientTools?.choice ?? 'auto',
    parallel_tool_calls: clientTools?.parallel ?? true,
    output_form: outputForm ?? null,
    tool_items: view.toolItems,
    tells_approvals: view.tellsApprovals,
  };
}

/** The settings that a response shows: as requested, and as the server allowed them. */
import type { CreateResponse, ModelSettings } from '@talaria/protocol';
import type { ResponseSettings } from '../journal/responses.ts';

/** How to show a response to this client. */
export interface ResponseView {
  model: string;
  toolItems: ResponseSettings['tool_items'];
  tellsApprovals: boolean;
}

export function responseSettings(
  asked: CreateResponse,
  view: ResponseView,
  /** The requested settings that the server lets clients set. */
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

/**
 * Assembles stream parts of the provider layer into the content of one step, in the order in which the model produced
 * it.
 *
 * A block (text, reasoning) is identified by kind and id while it is open; some providers use an id again for a
 * later block, so a start always opens a new one. Metadata may come with any part of a block; the latest wins,
 * key by key.
 */
import type { LanguageModelV4StreamPart, SharedV4ProviderMetadata } from '@ai-sdk/provider';
import type { AssistantPart, ReasoningPart, TextPart } from '../../journal/messages.ts';
import type { StepPart } from './model.ts';

export class StepAssembly {
  readonly #content: AssistantPart[] = [];
  readonly #open = new Map<string, TextPart | ReasoningPart>();
  readonly #usedCallIds: Set<string>;

  /** @param usedCallIds ids of earlier steps, which a new tool call must not have */
  constructor(usedCallIds: Iterable<string>) {
    this.#usedCallIds = new Set(usedCallIds);
  }

  /** Takes one part; yields what a listener should see of it. */
  *add(part: LanguageModelV4StreamPart): Generator<StepPart> {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        this.#start(part.type === 'text-start' ? 'text' : 'reasoning', part.id, part.providerMetadata);
        break;
      case 'text-delta':
      case 'reasoning-delta': {
        const kind = part.type === 'text-delta' ? 'text' : 'reasoning';
        const block = this.#open.get(`${kind}:${part.id}`) ?? this.#start(kind, part.id, undefined);
        block.text += part.delta;
        addMetadata(block, part.providerMetadata);
        if (part.delta) yield { type: kind, delta: part.delta };
        break;
      }
      case 'text-end':
        yield* this.#end(`text:${part.id}`, part.providerMetadata);
        break;
      case 'reasoning-end':
        yield* this.#end(`reasoning:${part.id}`, part.providerMetadata);
        break;
      case 'tool-input-delta':
        if (part.delta) yield { type: 'tool_input', delta: part.delta };
        break;
      case 'tool-call':
        // Only the provider's own tools are executed by it, and none are ever declared.
        if (part.providerExecuted) break;
        this.#content.push(
          addMetadata(
            {
              type: 'tool_call',
              id: this.#uniqueCallId(part.toolCallId),
              tool: part.toolName,
              arguments: part.input.trim() === '' ? '{}' : part.input,
            },
            part.providerMetadata,
          ),
        );
        break;
    }
  }

  /** Closes open blocks and yields what that completes; after it `content` is final. */
  *close(): Generator<StepPart> {
    for (const key of [...this.#open.keys()]) yield* this.#end(key, undefined);
  }

  get content(): AssistantPart[] {
    return this.#content.filter((part) => part.type === 'tool_call' || part.text !== '' || part.metadata);
  }

  #start(kind: 'text' | 'reasoning', id: string, metadata: SharedV4ProviderMetadata | undefined) {
    const block: TextPart | ReasoningPart = addMetadata({ type: kind, text: '' }, metadata);
    this.#content.push(block);
    this.#open.set(`${kind}:${id}`, block);
    return block;
  }

  *#end(key: string, metadata: SharedV4ProviderMetadata | undefined): Generator<StepPart> {
    const block = this.#open.get(key);
    if (!block) return;
    addMetadata(block, metadata);
    this.#open.delete(key);
    if (block.type === 'reasoning' && block.text) yield { type: 'reasoning_done', text: block.text };
  }

  /**
   * Some servers number their calls from zero in every step. In a journal an id names one call of the run, so a
   * repeated id gets a suffix. The provider sees the new id in the call and in its result.
   */
  #uniqueCallId(id: string): string {
    const base = id === '' ? 'call' : id;
    let unique = base;
    for (let n = 2; this.#usedCallIds.has(unique); n++) unique = `${base}_${n}`;
    this.#usedCallIds.add(unique);
    return unique;
  }
}

function addMetadata<Part extends AssistantPart>(
  part: Part,
  metadata: SharedV4ProviderMetadata | undefined,
): Part {
  for (const [provider, values] of Object.entries(metadata ?? {})) {
    const known = Object.entries(values ?? {}).filter(([, value]) => value !== undefined && value !== null);
    if (known.length === 0) continue;
    part.metadata = {
      ...part.metadata,
      [provider]: { ...part.metadata?.[provider], ...Object.fromEntries(known) },
    };
  }
  return part;
}

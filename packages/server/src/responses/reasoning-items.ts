/** The model's reasoning, as far as its provider shows it. Each item is complete when it is added. */
import type { ItemId, OutputItems, Slot } from './output-items.ts';

export class ReasoningItems {
  readonly #items: OutputItems;
  readonly #itemId: ItemId;
  #count = 0;
  /** The items of the step in progress: a restart removes them. */
  #unsettled: string[] = [];

  constructor(items: OutputItems, itemId: ItemId) {
    this.#items = items;
    this.#itemId = itemId;
  }

  /** `before`: the message of the same step, if it has begun. */
  add(text: string, before: Slot | undefined): void {
    const id = this.#itemId('rs', this.#count++);
    this.#unsettled.push(id);
    const item = { id, type: 'reasoning', summary: [] } as const;
    const part = { type: 'summary_text' as const, text };
    const whole = { ...item, status: 'completed' as const, summary: [part] };
    const added = { ...item, status: 'in_progress' as const, summary: [] };
    const slot = this.#items.add(added, () => whole, before);
    const place = { item_id: id, output_index: slot.outputIndex, summary_index: 0 };
    const { emit } = this.#items;
    emit('response.reasoning_summary_part.added', { ...place, part: { ...part, text: '' } });
    emit('response.reasoning_summary_text.delta', { ...place, delta: text });
    emit('response.reasoning_summary_text.done', { ...place, text });
    emit('response.reasoning_summary_part.done', { ...place, part });
    this.#items.done(slot, whole);
  }

  settle(): void {
    this.#unsettled = [];
  }

  discard(): void {
    for (const id of this.#unsettled) this.#items.drop(id);
    this.#unsettled = [];
  }
}

/** The messages of a session as turns: what the user said, what the agent answered, and how many calls that took. */
import type { SessionMessage } from '@talaria/client';

export interface Turn {
  runId: string;
  asked: string;
  answered: string;
  calls: number;
  /** How many messages of the session there are up to its end. */
  end: number;
  /** When it joined the session, in seconds. */
  at: number;
}

const EMPTY = { asked: '', answered: '', calls: 0, end: 0 };

export function turnsOf(messages: readonly SessionMessage[]): readonly Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    const isNew = last === undefined || last.runId !== message.run_id;
    const turn = isNew ? { ...EMPTY, runId: message.run_id, at: message.created_at } : last;
    if (isNew) turns.push(turn);
    turn.end = message.index + 1;
    const text = textOf(message);
    if (message.role === 'user') turn.asked = join(turn.asked, text);
    if (message.role === 'assistant') {
      turn.calls += message.tool_calls?.length ?? 0;
      turn.answered = join(turn.answered, text);
    }
  }
  return turns;
}

function textOf({ content }: SessionMessage): string {
  if (content === null || typeof content === 'string') return content ?? '';
  return content.map((part) => (part.type === 'text' ? part.text : '(an image)')).join('\n');
}

function join(before: string, text: string): string {
  return before === '' || text === '' ? before + text : `${before}\n\n${text}`;
}

/** How fresh the page is. It never speaks of the runs: they continue on the server whatever happens here. */
import { type Connection, connection, trouble } from '../api/live/live.ts';
import { describe } from '../ui/problem.tsx';

const WORDS: Record<Connection, [word: string, kind: string, title: string]> = {
  connecting: ['connecting…', 'muted', 'Reading the runs of the server'],
  live: ['live', 'good', 'Changes on the server appear here at once'],
  reconnecting: ['reconnecting…', 'warn', 'The connection broke off. Runs continue on the server'],
  offline: ['offline', 'bad', 'The server cannot be reached. Runs continue without this page'],
  old: ['not live', 'muted', 'This server cannot list its runs'],
};

export function ConnectionIndicator() {
  const [word, kind, title] = WORDS[connection.value];
  return (
    <span
      class={`connection ${kind}`}
      role="status"
      title={trouble.value === undefined ? title : describe(trouble.value)}
    >
      <span aria-hidden="true">● </span>
      <span class="visually-hidden">This page is </span>
      {word}
    </span>
  );
}

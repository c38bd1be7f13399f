/**
 * MCP servers that misbehave, without an SDK that would keep them from it:
 *
 *   silent      never answers anything
 *   garbage     prints lines that are no messages, and never answers
 *   greeting    prints such lines first, and is a good server otherwise
 *   exit        complains and ends
 *   endless     begins a message that never ends
 *   deaf        answers the handshake, has a tool, ignores SIGTERM and the end of its input, and answers no call
 *   brief       answers the handshake and ends
 */
import { createInterface } from 'node:readline';

const [kind, secret = ''] = process.argv.slice(2);

function say(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

const HANDSHAKE = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'broken', version: '0' },
};

if (kind === 'garbage' || kind === 'greeting') {
  process.stdout.write(`Welcome! ${secret}\n{"not": "a message"}\n[1, 2\n\n`);
}
if (kind === 'exit') {
  process.stderr.write(`Error: the token ${secret} is not valid\nNode.js v24.0.0\n`);
  process.exit(3);
}
if (kind === 'endless') {
  const piece = 'x'.repeat(1_000_000);
  const more = (): boolean => process.stdout.write(piece, () => more());
  process.stdout.write('{"jsonrpc": "2.0", "result": "');
  more();
}
if (kind === 'deaf') {
  process.on('SIGTERM', () => {});
  setInterval(() => {}, 1_000_000);
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line) as { id?: number; method: string };
  if (kind === 'silent' || kind === 'garbage' || kind === 'endless' || id === undefined) return;
  if (method === 'initialize') say({ id, result: HANDSHAKE });
  else if (method === 'tools/list') {
    say({ id, result: { tools: [{ name: 'only', inputSchema: { type: 'object' } }] } });
    if (kind === 'brief') setTimeout(() => process.exit(0), 50);
  } else if (kind !== 'deaf') say({ id, result: { content: [{ type: 'text', text: 'fine' }] } });
});

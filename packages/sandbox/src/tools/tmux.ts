/** `tmux`: the terminal of a slot for full-screen programs, by the names of tmux. For the holder of a slot. */
import { defineTool, type Refusal } from './define-tool.ts';

const ACTIONS = ['start', 'send_keys', 'capture', 'stream', 'stop'] as const;
type Action = (typeof ACTIONS)[number];

export const tmux = defineTool({
  name: 'tmux',
  description:
    'The terminal of the slot, which bash_stateful uses, too. start makes it; send_keys types; capture shows the screen; ' +
    'stream gives what was printed since the last stream, as lines of an asciicast; stop ends it and all it runs.',
  schema: {
    type: 'object',
    properties: {
      action: { type: 'string', enum: ACTIONS, description: 'What to do' },
      keys: {
        type: ['string', 'array'],
        items: { type: 'string' },
        maxItems: 1000,
        description:
          'send_keys: text, or names of keys such as Enter, C-c, Up; in a list each is one or the other',
      },
      block: {
        type: 'boolean',
        description: 'send_keys: also Enter, if it is not the last key, and wait until the shell prompts',
      },
      min_wait_s: {
        type: 'number',
        minimum: 0,
        description: 'send_keys without block: seconds to wait afterwards',
      },
      max_wait_s: {
        type: 'number',
        minimum: 0,
        description: 'send_keys with block: seconds, then the terminal is ended',
      },
      capture_entire: { type: 'boolean', description: 'capture: also what has scrolled away' },
      max_bytes: { type: 'integer', minimum: 1, description: 'stream: how much at most; 50 000 by default' },
      reset: { type: 'boolean', description: 'stream: from the beginning' },
      pane_width: { type: 'integer', minimum: 1, description: 'start: columns of a new terminal, 20 to 500' },
      pane_height: { type: 'integer', minimum: 1, description: 'start: rows of a new terminal, 10 to 200' },
      timeout: { type: 'number', minimum: 0.001, description: 'Seconds that the call may take' },
      allow_network: {
        type: 'boolean',
        description:
          'false: without a network; true: fails if the sandbox has none. Another value than before begins a new terminal',
      },
      require_stateful_sandbox: { type: 'boolean', description: 'Fails if nothing isolates commands' },
    },
    required: ['action'],
  },
  example: { action: 'send_keys', keys: ['ls', 'Enter'], block: true },
  refuse: refuseCall,
});

/** Arguments of other actions are ignored: those who know tmux send them all. */
function refuseCall({ action, keys }: { action: Action; keys?: unknown }): Refusal | undefined {
  return action === 'send_keys' && keys === undefined ? { problem: "'keys' says what to type" } : undefined;
}

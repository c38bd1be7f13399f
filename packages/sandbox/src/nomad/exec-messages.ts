/**
 * The messages of Nomad's `alloc exec` over its WebSocket, in JSON: `{"stdin":{"data":"…"}}` one way,
 * `{"stdout":{"data":"…"}}` and at last `{"exited":true,…}` the other.
 */
import type { ExecCodec, ExecOutput } from '../containers/relay/exec-stream.ts';

interface Message {
  stdout?: { data?: string };
  stderr?: { data?: string };
  exited?: boolean;
  result?: { exit_code?: number };
}

export const NOMAD_EXEC: ExecCodec = {
  input: (bytes) => encode({ stdin: { data: bytes.toString('base64') } }),
  endOfInput: encode({ stdin: { close: true } }),
  read,
};

function read(message: Buffer): ExecOutput {
  let parsed: Message;
  try {
    parsed = JSON.parse(message.toString('utf8'));
  } catch {
    throw new Error('Nomad sent a message over an exec that is not JSON');
  }
  const { stdout, stderr, exited, result } = parsed;
  const code = result?.exit_code ?? 0;
  return {
    ...(stdout?.data ? { stdout: decode(stdout.data) } : {}),
    ...(stderr?.data ? { stderr: decode(stderr.data) } : {}),
    ...(exited ? { ended: code === 0 || `ended with ${code}` } : {}),
  };
}

function encode(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function decode(data: string): Buffer {
  return Buffer.from(data, 'base64');
}

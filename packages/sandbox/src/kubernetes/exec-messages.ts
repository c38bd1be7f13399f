/**
 * The messages of a pod's `exec` over its WebSocket. Each begins with the number of its channel. The fifth version of the
 * protocol can end the input alone. Before Kubernetes 1.30 there is only the fourth: there closing the WebSocket ends the input.
 */
import type { ExecCodec, ExecOutput } from '../containers/relay/exec-stream.ts';

export const EXEC_PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io'] as const;

const [STDIN, STDOUT, STDERR, STATUS, CLOSE] = [0, 1, 2, 3, 255] as const;

interface Status {
  status?: string;
  message?: string;
}

export function kubernetesExec(protocol: string | undefined): ExecCodec {
  return {
    input: (bytes) => Buffer.concat([Buffer.of(STDIN), bytes]),
    endOfInput: protocol === EXEC_PROTOCOLS[0] ? Buffer.of(CLOSE, STDIN) : undefined,
    read,
  };
}

/** Each channel begins with an empty message. */
function read(message: Buffer): ExecOutput {
  const content = message.subarray(1);
  if (content.length === 0) return {};
  switch (message[0]) {
    case STDOUT:
      return { stdout: content };
    case STDERR:
      return { stderr: content };
    case STATUS:
      return { ended: outcome(content.toString('utf8')) };
    default:
      return {};
  }
}

function outcome(text: string): true | string {
  let parsed: Status;
  try {
    parsed = JSON.parse(text);
  } catch {
    return `ended, and Kubernetes said: ${text}`;
  }
  return parsed.status === 'Success' || `failed, because ${parsed.message ?? text}`;
}

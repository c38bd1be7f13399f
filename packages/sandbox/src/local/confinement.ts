/**
 * What surrounds the commands of a backend, as far as the holder of a slot may ask for it in a call: something that isolates
 * them from the machine, and a network. A call gets what it asks for, or fails: it never runs with less, or with more.
 */
import type { ToolOutcome } from './tools/tool.ts';

export interface Confinement {
  /** An isolation, or a container around the backend, keeps commands apart from the machine. */
  sandboxed: boolean;
  /** Commands have a network, unless they are cut off. */
  network: boolean;
  /** One command can go without the network that the others have. */
  canCutOff: boolean;
}

export interface Demands {
  allow_network?: boolean;
  require_sandbox?: boolean;
  /** The same, as tools call it whose commands share a session. */
  require_stateful_sandbox?: boolean;
}

/** What a result says about the place of its command. */
export interface ConfinementMetadata {
  sandboxed: boolean;
  network_isolated: boolean;
}

export interface Granted {
  isCutOff: boolean;
  metadata: ConfinementMetadata;
}

/** Returns an outcome if the demands cannot be met. */
export function grant(confinement: Confinement, demands: Demands): Granted | ToolOutcome {
  const { sandboxed, network, canCutOff } = confinement;
  const { allow_network: wantsNetwork } = demands;
  const isCutOff = network && wantsNetwork === false;
  const problem =
    (needsSandbox(demands) && !sandboxed && NO_SANDBOX) ||
    (wantsNetwork === true && !network && NO_NETWORK) ||
    (isCutOff && !canCutOff && NO_CUT);
  const metadata = { sandboxed, network_isolated: !network || (isCutOff && canCutOff) };
  if (problem) return { output: '', error: problem, metadata: { ...metadata, failure: 'invalid_request' } };
  return { isCutOff, metadata };
}

function needsSandbox({ require_sandbox, require_stateful_sandbox }: Demands): boolean {
  return require_sandbox === true || require_stateful_sandbox === true;
}

const NO_SANDBOX =
  'Sandboxing required, but nothing isolates the commands of this server: install bubblewrap, or let it use containers (TALARIA_BACKEND).';
const NO_NETWORK =
  'The call needs a network (allow_network), but the commands of this server have none: set TALARIA_ALLOW_NETWORK=true on the server, or ask for none.';
const NO_CUT =
  'Network isolation requested, but nothing here can take the network from one command: set TALARIA_ALLOW_NETWORK=false on a server with an isolation, or allow the network.';

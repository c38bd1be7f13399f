import type { ExecutionMetadata } from '../../backend.ts';
import type { SandboxArguments, SandboxToolName } from '../../tools/sandbox-tools.ts';
import type { Workspace } from '../../workspace/workspaces.ts';
import type { BackgroundProcesses } from '../background/background-processes.ts';
import type { SharedNetwork } from '../background/shared-network.ts';
import type { Confinement } from '../confinement.ts';
import type { IsolationDriver } from '../isolation/isolation-driver.ts';
import type { SlotSeat } from '../keeper/slot-seat.ts';
import type { SlotLimits } from '../limits/slot-limits.ts';
import type { OutputLimits } from '../process/output-capture.ts';
import type { PipeStock } from '../process/pipe-stock.ts';
import type { SlotTerminal } from '../terminal/slot-terminal.ts';

/** The environment of a tool: one execution in one workspace. */
export interface ToolContext {
  executionId: string;
  workspace: Workspace;
  isolation: IsolationDriver;
  pipes: PipeStock;
  /** The background processes of the slot. */
  processes: BackgroundProcesses;
  terminal: SlotTerminal;
  network: SharedNetwork;
  /** The control groups and the keeper of its commands. */
  seat: SlotSeat;
  limits: OutputLimits;
  confinement: Confinement;
  /** Its command has no network, although the sandbox has one. */
  isCutOff: boolean;
  /** For commands (run-limited.ts) and for what the server itself writes into the workspace. */
  slotLimits: SlotLimits;
  /** Used if the call names no timeout of its own. */
  defaultTimeoutS: number;
  /** The longest timeout that a call may name. */
  maxTimeoutS: number;
  signal: AbortSignal;
}

export interface ToolOutcome {
  output: string;
  /** Empty when the tool succeeded. */
  error: string;
  metadata: Omit<ExecutionMetadata, 'duration_s' | 'timed_out' | 'truncated'> &
    Partial<Pick<ExecutionMetadata, 'timed_out' | 'truncated'>>;
}

/** How a tool is run here, with arguments that its definition has checked. */
export type Run<Name extends SandboxToolName> = (
  args: SandboxArguments<Name>,
  context: ToolContext,
) => Promise<ToolOutcome>;

/** The parts of Nomad's answers that are read here. */
export interface Evaluation {
  Status: string;
  StatusDescription?: string;
  /** For each task group without a place. */
  FailedTGAllocs?: Record<string, FailedPlacement> | null;
}

export interface FailedPlacement {
  NodesEvaluated?: number;
  /** By what ran out: `memory`, `cpu`. */
  DimensionExhausted?: Record<string, number> | null;
  ConstraintFiltered?: Record<string, number> | null;
}

export interface TaskEvent {
  Type: string;
  DisplayMessage?: string;
  ExitCode?: number;
  Details?: Record<string, string>;
}

export interface Allocation {
  ID: string;
  CreateIndex: number;
  /** `pending`, `running`, and then for good `complete`, `failed` or `lost`. */
  ClientStatus: string;
  ClientDescription?: string;
  TaskStates?: Record<string, { State: string; Events?: TaskEvent[] | null }> | null;
}

export interface JobSummary {
  ID: string;
  /** `dead` when nothing in the job runs or will run. */
  Status: string;
  Meta?: Record<string, string> | null;
}

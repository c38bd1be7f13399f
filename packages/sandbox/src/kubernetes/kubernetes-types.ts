/** The parts of the answers of Kubernetes that are read here. */
export interface Pod {
  metadata: {
    name: string;
    uid: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    deletionTimestamp?: string;
  };
  status?: PodStatus;
}

export interface PodStatus {
  /** `Pending`, `Running`, and then for good `Succeeded` or `Failed`; `Unknown` while its node does not report. */
  phase?: string;
  /** In one word, such as `Evicted` or `OutOfcpu`. */
  reason?: string;
  message?: string;
  podIP?: string;
  conditions?: PodCondition[] | null;
  containerStatuses?: ContainerStatus[] | null;
}

export interface PodCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
}

export interface ContainerStatus {
  state?: {
    waiting?: { reason?: string; message?: string };
    running?: object;
    terminated?: Terminated;
  };
}

export interface Terminated {
  exitCode: number;
  reason?: string;
  /** The end of what it printed (`FallbackToLogsOnError`). */
  message?: string;
}

export interface PodList {
  metadata: { resourceVersion: string };
  items: Pod[];
}

export type LabelSelector = {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] | null }[] | null;
};

export interface NetworkPolicy {
  metadata: { name: string };
  spec: {
    podSelector?: LabelSelector;
    policyTypes?: string[] | null;
    ingress?: unknown[] | null;
    egress?: unknown[] | null;
  };
}

/** Refusals, and the end of what is watched. */
export interface ApiStatus {
  code?: number;
  reason?: string;
  message?: string;
}

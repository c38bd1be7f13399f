/**
 * Whether the namespace denies its pods a network. A pod has one as soon as it runs, and only a NetworkPolicy takes it away. The
 * driver makes none, because a driver that may write policies may also open what they close. Policies add up: one that denies
 * everything denies nothing that another allows.
 */
import { LABELS } from '../containers/host-directory.ts';
import { SandboxError } from '../errors.ts';
import type { LabelSelector, NetworkPolicy } from './kubernetes-types.ts';
import { labelsOf } from './pod-spec.ts';

const DIRECTIONS = { Ingress: 'ingress', Egress: 'egress' } as const;
const HOW =
  'apply deploy/kubernetes/sandboxes.yaml, or set TALARIA_ALLOW_NETWORK if commands may have a network';

export function requireNoNetwork(policies: readonly NetworkPolicy[], namespace: string): void {
  const labels = labelsOf({ labels: {}, allowNetwork: false });
  for (const [type, rules] of Object.entries(DIRECTIONS)) {
    // Without named types, a policy applies to incoming traffic, and to outgoing traffic if it has rules for that.
    const about = policies.filter(({ spec }) =>
      spec.policyTypes?.length ? spec.policyTypes.includes(type) : type === 'Ingress' || spec[rules]?.length,
    );
    const ours = (doubt: boolean) =>
      about.filter(({ spec }) => selects(spec.podSelector ?? {}, labels, doubt));
    if (ours(false).length === 0)
      throw open(`no NetworkPolicy in the namespace ${namespace} denies sandboxes ${type.toLowerCase()}`);
    const allows = ours(true).find(({ spec }) => spec[rules]?.length);
    if (allows)
      throw open(
        `the NetworkPolicy ${allows.metadata.name} in the namespace ${namespace} allows sandboxes ${type.toLowerCase()}`,
      );
  }
}

function open(problem: string): SandboxError {
  return new SandboxError('isolation_unavailable', `Commands would have a network: ${problem}; ${HOW}.`);
}

const OF_ONE_SERVER: readonly string[] = [LABELS.server, LABELS.machine];

/** `doubt`: the result when a policy selects by a label whose value differs per server. */
function selects(
  { matchLabels = {}, matchExpressions }: LabelSelector,
  labels: Record<string, string>,
  doubt: boolean,
): boolean {
  const equal = Object.entries(matchLabels).map(([key, value]) => ({ key, operator: 'In', values: [value] }));
  return [...equal, ...(matchExpressions ?? [])].every((expression) =>
    OF_ONE_SERVER.includes(expression.key)
      ? expression.operator === 'Exists' || (expression.operator !== 'DoesNotExist' && doubt)
      : holds(expression, labels),
  );
}

type Expression = NonNullable<LabelSelector['matchExpressions']>[number];

function holds({ key, operator, values }: Expression, labels: Record<string, string>): boolean {
  const value = labels[key];
  switch (operator) {
    case 'In':
      return value !== undefined && (values ?? []).includes(value);
    case 'NotIn':
      return value === undefined || !(values ?? []).includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    default:
      return false;
  }
}

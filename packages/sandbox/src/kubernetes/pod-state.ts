/** Interprets the status of a pod. Pure. */
import type { Examined } from '../containers/container-driver.ts';
import { SERVER_KILLED } from '../containers/first-process.ts';
import { SandboxError } from '../errors.ts';
import type { Pod, Terminated } from './kubernetes-types.ts';

/** Waiting does not help a container in one of these states: its image or its configuration is wrong. */
const HOPELESS = [
  ...['ErrImagePull', 'ImagePullBackOff', 'InvalidImageName', 'ErrImageNeverPull', 'ImageInspectError'],
  ...['RegistryUnavailable', 'SignatureValidationFailed', 'CreateContainerConfigError'],
  ...['CreateContainerError', 'RunContainerError', 'CrashLoopBackOff'],
];
const IMAGE = /image|registry|signature/i;
/** The node had less than the scheduler thought. */
const OUT_OF = /^(OutOf|UnexpectedAdmissionError|NodeAffinity|NodePorts|Preempt)/;
const KILLED = 137;

/** True if its server runs. Throws if it never will, with the reason and what to do. */
export function isRunning(pod: Pod | undefined): true | undefined {
  if (!pod) throw new SandboxError('container_failed', 'its pod was deleted before it ran');
  const { conditions, phase } = pod.status ?? {};
  const scheduled = conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.status === 'False' && scheduled.reason === 'Unschedulable') throw noRoom(scheduled.message);
  const { running, waiting } = stateOf(pod);
  if (running) return true;
  if (waiting?.reason && HOPELESS.includes(waiting.reason)) throw hopeless(waiting.reason, waiting.message);
  if (phase === 'Failed' || phase === 'Succeeded' || pod.metadata.deletionTimestamp) throw neverRan(pod);
  return undefined;
}

/** The error for a pod that did not run in time, with the reason as far as its status tells. */
export function stillWaiting(pod: Pod | undefined, withinS: number): SandboxError {
  const { phase = 'Pending', conditions } = pod?.status ?? {};
  const { waiting } = pod ? stateOf(pod) : {};
  const unmet = conditions?.find(({ status, message }) => status === 'False' && message);
  const said = [waiting?.reason, waiting?.message ?? unmet?.message].filter(Boolean).join(': ');
  return new SandboxError(
    'container_failed',
    `its pod did not run within ${withinS} s; it is ${phase}${said === '' ? '' : ` (${said})`}. kubectl describe pod tells more`,
  );
}

/** Whether its server runs, according to the last report of its kubelet. */
export function seemsAlive(pod: Pod): boolean {
  return stateOf(pod).running !== undefined && !hasEnded(pod);
}

/** True if nothing in the pod runs any more. */
export function hasEnded(pod: Pod | undefined): true | undefined {
  if (!pod) return true;
  const { phase } = pod.status ?? {};
  return phase === 'Succeeded' || phase === 'Failed' || stateOf(pod).terminated !== undefined || undefined;
}

/** The exit code of the pod's container, once that has ended; throws if it will never run. */
export function exitCodeOf(pod: Pod | undefined): number | undefined {
  const terminated = pod && stateOf(pod).terminated;
  if (terminated) return terminated.exitCode;
  isRunning(pod);
  return undefined;
}

/** How it ended; undefined if its server never ran. */
export function endOf(pod: Pod): Examined | undefined {
  const { running, terminated } = stateOf(pod);
  if (!running && !terminated) return undefined;
  const reason = endedBecause(pod);
  const printed = [reason, terminated?.message?.trim()].filter(Boolean).join('\n');
  return { outOfMemory: ranOutOfMemory(terminated), printed, reason };
}

function stateOf({ status }: Pod) {
  return status?.containerStatuses?.[0]?.state ?? {};
}

/** Kubernetes may also report `OOMKilled` for a command that was killed long before the server ended for another reason. */
function ranOutOfMemory(terminated: Terminated | undefined): boolean {
  return terminated?.reason === 'OOMKilled' && [KILLED, SERVER_KILLED].includes(terminated.exitCode);
}

function endedBecause({ status, metadata }: Pod): string | undefined {
  if (status?.reason) return `${status.reason}: ${status.message ?? 'Kubernetes says no more'}`;
  return metadata.deletionTimestamp ? 'the pod was deleted' : undefined;
}

function noRoom(message = 'Kubernetes does not say why'): SandboxError {
  return new SandboxError(
    'slot_unavailable',
    `Kubernetes has no room for another pod: ${message.replace(/\.$/, '')}. Add nodes, reserve less, or lower TALARIA_MAX_CONTAINERS.`,
  );
}

function hopeless(reason: string, message = ''): SandboxError {
  const fix = IMAGE.test(reason)
    ? ' Check TALARIA_KUBERNETES_IMAGE, and TALARIA_KUBERNETES_PULL_SECRETS if its registry wants a password.'
    : '';
  return new SandboxError('container_failed', `its pod cannot start (${reason}): ${message}.${fix}`);
}

function neverRan(pod: Pod): SandboxError {
  const { reason, message } = pod.status ?? {};
  if (reason && OUT_OF.test(reason)) return noRoom(message ?? reason);
  const { terminated } = stateOf(pod);
  if (terminated)
    return new SandboxError('container_failed', `its server ended at once, with ${terminated.exitCode}`);
  return new SandboxError('container_failed', `its pod never ran: ${endedBecause(pod) ?? 'it ended'}`);
}

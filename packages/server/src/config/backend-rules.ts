/** Rules between the settings of the backends. */
import { listOf } from '../basics/list-of.ts';
import type { BackendName } from './settings/backends.ts';
import type { SettingName, SettingValues } from './settings.ts';

type BackendValues = Pick<SettingValues, (typeof BACKEND_SETTINGS)[number]>;

export const BACKEND_SETTINGS = [
  'backend',
  'dockerImage',
  'dockerHost',
  'kubernetesImage',
  'kubernetesNodeSelector',
  'kubernetesTolerations',
  'modalTokenId',
  'modalTokenSecret',
  'nomadDriver',
  'nomadImage',
  'nomadAddress',
  'nomadConstraints',
  'slotsPerContainer',
  'minContainers',
  'maxContainers',
  'warmSlots',
  'maxConcurrentRuns',
  'slots',
  'maxSlots',
] as const satisfies SettingName[];

/**
 * So that no run waits for a slot while it could be worked on, no client waits for a slot that it may have, and as many runs as
 * work at the same time may wait with their slot.
 */
export function neededContainers(values: BackendValues): number {
  const { maxConcurrentRuns, slotsPerContainer, minContainers, warmSlots } = values;
  const slots = Math.max(2 * maxConcurrentRuns + clientSlots(values), warmSlots);
  return Math.max(minContainers, Math.ceil(slots / slotsPerContainer));
}

/** How many runs may keep their slot while they wait: no more than work at the same time, and never a slot that those need. */
export function keptSandboxes(values: Values): number {
  const { backend, maxConcurrentRuns, maxContainers, slotsPerContainer } = values;
  if (OWN_RULES[backend] === undefined) return maxConcurrentRuns;
  const left = maxContainers * slotsPerContainer - maxConcurrentRuns - clientSlots(values);
  return Math.max(0, Math.min(maxConcurrentRuns, left));
}

/** How many slots clients may hold, in addition to those of runs. */
function clientSlots({ slots, maxSlots }: BackendValues): number {
  return slots ? maxSlots : 0;
}

type Values = BackendValues & { maxContainers: number };
type Label = (name: SettingName) => string;
type Found = { problems: string[]; warnings: string[] };

/** The rules of each backend for its own settings; undefined for the one without containers. */
const OWN_RULES: Readonly<Record<BackendName, ((values: Values, label: Label) => string[]) | undefined>> = {
  local: undefined,
  docker: checkDocker,
  kubernetes: checkKubernetes,
  modal: checkModal,
  nomad: checkNomad,
};

export function checkBackend(values: Values, label: Label): Found {
  const checkOwn = OWN_RULES[values.backend];
  if (checkOwn === undefined) return { problems: [], warnings: [] };
  const { problems, warnings } = checkContainers(values, label);
  return { problems: [...checkOwn(values, label), ...problems], warnings };
}

/** The image of a backend whose rules require one. */
export function requiredImage(
  values: Pick<SettingValues, 'dockerImage' | 'kubernetesImage'>,
  name: 'dockerImage' | 'kubernetesImage',
): string {
  const image = values[name];
  if (image === undefined) throw new Error(`expected an image in ${name}, got nothing; set it`);
  return image;
}

/** Half a token would be completed from a file that has another. */
function checkModal({ modalTokenId, modalTokenSecret }: Values, label: Label): string[] {
  if ((modalTokenId === undefined) === (modalTokenSecret === undefined)) return [];
  const [given, missing] =
    modalTokenId === undefined
      ? (['modalTokenSecret', 'modalTokenId'] as const)
      : (['modalTokenId', 'modalTokenSecret'] as const);
  return [`${label(given)} is set and ${label(missing)} is not; set both, or neither to use ~/.modal.toml`];
}

function checkDocker({ dockerImage, dockerHost }: Values, label: Label): string[] {
  const problems: string[] = [];
  if (dockerImage === undefined) {
    problems.push(
      `${label('backend')} is docker and no image is named; set ${label('dockerImage')} to one that is on this machine (docs/docker.md says what it needs)`,
    );
  }
  if (!/^unix:\/\/\/.|^tcp:\/\/[^/]/.test(dockerHost)) {
    problems.push(
      `${label('dockerHost')} is "${dockerHost}"; allowed: unix:///path/to/docker.sock or tcp://host:port`,
    );
  }
  return problems;
}

function checkKubernetes(values: Values, label: Label): string[] {
  const {
    kubernetesImage,
    kubernetesNodeSelector = '',
    kubernetesTolerations = '',
    slotsPerContainer,
  } = values;
  const problems: string[] = [];
  if (kubernetesImage === undefined) {
    problems.push(
      `${label('backend')} is kubernetes and no image is named; set ${label('kubernetesImage')} to one that talaria sandbox-image made (docs/kubernetes.md)`,
    );
  }
  if (slotsPerContainer > 1) {
    problems.push(
      `${label('slotsPerContainer')} is ${slotsPerContainer}; allowed: 1, because runs in one pod cannot be kept apart`,
    );
  }
  for (const part of listOf(kubernetesNodeSelector, ','))
    if (!/^[^=]+=[^=]*$/.test(part))
      problems.push(
        `${label('kubernetesNodeSelector')} has "${part}"; allowed: label=value, separated by commas`,
      );
  for (const part of listOf(kubernetesTolerations, ','))
    if (!/^[^=:]+(=[^=:]*)?(:(NoSchedule|PreferNoSchedule|NoExecute))?$/.test(part))
      problems.push(
        `${label('kubernetesTolerations')} has "${part}"; allowed: key, key=value, or either with :NoSchedule, :PreferNoSchedule or :NoExecute, separated by commas`,
      );
  return problems;
}

function checkNomad(
  { nomadDriver, nomadImage, nomadAddress, nomadConstraints = '', slotsPerContainer }: Values,
  label: Label,
): string[] {
  const problems: string[] = [];
  for (const part of listOf(nomadConstraints, ';'))
    if (!/^\S+\s+\S+(\s+\S.*)?$/.test(part))
      problems.push(
        `${label('nomadConstraints')} has "${part}"; allowed: an attribute, an operator and a value with spaces between them, such as node.class = sandbox, separated by semicolons`,
      );
  if (nomadDriver === 'docker' && nomadImage === undefined) {
    problems.push(
      `${label('backend')} is nomad and no image is named; set ${label('nomadImage')} to one that talaria sandbox-image made (docs/nomad.md), or ${label('nomadDriver')} to raw_exec`,
    );
  }
  if (nomadDriver === 'docker' && slotsPerContainer > 1) {
    problems.push(
      `${label('slotsPerContainer')} is ${slotsPerContainer}; allowed: 1, because runs in one container of Nomad's docker driver cannot be kept apart`,
    );
  }
  if (!/^https?:\/\/[^/]|^unix:\/\/\/./.test(nomadAddress)) {
    problems.push(
      `${label('nomadAddress')} is "${nomadAddress}"; allowed: http://host:port, https://host:port or unix:///path`,
    );
  }
  return problems;
}

function checkContainers(values: Values, label: Label): Found {
  const { slotsPerContainer, minContainers, maxContainers, warmSlots } = values;
  const slots = maxContainers * slotsPerContainer;
  const problems: string[] = [];
  const warnings: string[] = [];
  if (minContainers > maxContainers) {
    problems.push(
      `${label('minContainers')} is ${minContainers} and ${label('maxContainers')} is ${maxContainers}; allowed: a minimum up to the maximum`,
    );
  }
  if (warmSlots > slots) {
    problems.push(
      `${label('warmSlots')} is ${warmSlots}, but ${label('maxContainers')} and ${label('slotsPerContainer')} make ${slots} slots; allowed: up to that many`,
    );
  }
  // A run holds its slot until its end, and a client for as long as it likes: without room for both, one starves the
  // other.
  if (values.slots && slots < values.maxConcurrentRuns + values.maxSlots) {
    problems.push(
      `${label('maxContainers')} and ${label('slotsPerContainer')} make ${slots} slots, too few for ${values.maxConcurrentRuns} runs and ${values.maxSlots} slots of clients at the same time; allowed: ${label('maxContainers')} up, or ${label('maxConcurrentRuns')} or ${label('maxSlots')} down`,
    );
  } else if (slots < values.maxConcurrentRuns) {
    warnings.push(
      `${values.maxConcurrentRuns} runs may be worked on at the same time, but ${label('maxContainers')} and ${label('slotsPerContainer')} make ${slots} slots; the others wait for one`,
    );
  }
  return { problems, warnings };
}

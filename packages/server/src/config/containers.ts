/** The settings of a backend with containers, where they only make sense together. */
import type { SettingName, SettingValues } from './settings.ts';

type ContainerValues = Pick<SettingValues, (typeof CONTAINER_SETTINGS)[number]>;

export const CONTAINER_SETTINGS = [
  'backend',
  'dockerImage',
  'dockerHost',
  'slotsPerContainer',
  'minContainers',
  'maxContainers',
  'warmSlots',
  'maxConcurrentRuns',
] as const satisfies SettingName[];

/** So that no run waits for a place while it could be worked on. */
export function neededContainers(values: ContainerValues): number {
  const { maxConcurrentRuns, slotsPerContainer, minContainers, warmSlots } = values;
  return Math.max(minContainers, Math.ceil(Math.max(maxConcurrentRuns, warmSlots) / slotsPerContainer));
}

export function checkContainers(
  values: ContainerValues & { maxContainers: number },
  label: (name: SettingName) => string,
): { problems: string[]; warnings: string[] } {
  const { dockerImage, dockerHost, slotsPerContainer, minContainers, maxContainers, warmSlots } = values;
  const slots = maxContainers * slotsPerContainer;
  const problems: string[] = [];
  const warnings: string[] = [];
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
  if (slots < values.maxConcurrentRuns) {
    warnings.push(
      `${values.maxConcurrentRuns} runs may be worked on at the same time, but ${label('maxContainers')} and ${label('slotsPerContainer')} make ${slots} slots; the others wait for one`,
    );
  }
  return { problems, warnings };
}

import { expect, test } from 'vitest';
import { ContainerDirectory } from '../containers/container-directory.ts';
import type { ContainerRequest } from '../containers/container-driver.ts';
import { type JobSettings, jobSpec } from './job-spec.ts';

const SETTINGS: JobSettings = {
  driver: 'docker',
  image: 'sandbox:1',
  program: ['/opt/talaria/sandbox-server'],
  namespace: 'agents',
  datacenters: ['one'],
  constraints: ['node.class = sandbox'],
  cpuMhz: 200,
  memoryMb: 512,
  diskMb: 300,
};
const REQUEST: ContainerRequest = {
  name: 'talaria-1',
  labels: { 'talaria.server': 'me' },
  nested: false,
  slots: 1,
  allowNetwork: false,
  limits: { memoryBytes: 1024 ** 3, processes: 100 },
  backend: { isolation: 'none' },
  directory: new ContainerDirectory('/nowhere'),
};

// The test reads Nomad's body without Nomad's types.
// biome-ignore lint/suspicious/noExplicitAny: read by the test alone
const taskOf = (spec: object) => (spec as any).TaskGroups[0].Tasks[0];

test('a job is placed once, where the settings say, and carries its labels', () => {
  expect(jobSpec(SETTINGS, REQUEST)).toMatchObject({
    ID: 'talaria-1',
    Type: 'batch',
    Namespace: 'agents',
    Datacenters: ['one'],
    Constraints: [{ LTarget: `\${node.class}`, Operand: '=', RTarget: 'sandbox' }],
    Meta: { 'talaria.server': 'me' },
    TaskGroups: [{ Count: 1, RestartPolicy: { Attempts: 0 }, ReschedulePolicy: { Attempts: 0 } }],
  });
});

test('a task of the docker driver has no network, no rights, a user that is not root, and its limits', () => {
  const task = taskOf(jobSpec(SETTINGS, REQUEST));
  expect(task).toMatchObject({ User: '65533:65533', Resources: { CPU: 200, MemoryMB: 1024 + 128 } });
  expect(task.Config).toMatchObject({
    image: 'sandbox:1',
    network_mode: 'none',
    cap_drop: ['all'],
    security_opt: ['no-new-privileges'],
    readonly_rootfs: true,
    pids_limit: 164,
  });
  const open = taskOf(jobSpec(SETTINGS, { ...REQUEST, allowNetwork: true }));
  expect(open.Config).not.toHaveProperty('network_mode');
});

test('if nothing isolates commands in a task, its writable directories count against the disk limit', () => {
  const backendOf = (spec: object) => JSON.parse(taskOf(spec).Config.args.at(-1)).backend;
  expect(backendOf(jobSpec(SETTINGS, REQUEST)).writableDirs).toEqual(['/local', '/alloc']);
  const nested = { ...REQUEST, nested: true };
  expect(backendOf(jobSpec({ ...SETTINGS, driver: 'raw_exec' }, nested))).not.toHaveProperty('writableDirs');
});

test('a task of raw_exec gets nothing of the environment of the agent', () => {
  const { Config } = taskOf(jobSpec({ ...SETTINGS, driver: 'raw_exec' }, { ...REQUEST, limits: {} }));
  expect(Config.command).toBe('/bin/sh');
  expect(Config.args).toEqual(expect.arrayContaining(['/usr/bin/env', '-i', '/opt/talaria/sandbox-server']));
});

test('a constraint is written with or without the sign of an attribute, and anything else is refused', () => {
  const constraintsOf = (...constraints: string[]) =>
    (jobSpec({ ...SETTINGS, constraints }, REQUEST) as { Constraints: object[] }).Constraints;
  // biome-ignore-start lint/suspicious/noTemplateCurlyInString: Nomad's own form
  const expected = { LTarget: '${node.class}', Operand: '!=', RTarget: 'big one' };
  expect(constraintsOf('node.class != big one', '${node.class} != big one')).toEqual([expected, expected]);
  // biome-ignore-end lint/suspicious/noTemplateCurlyInString: Nomad's own form
  expect(() => constraintsOf('node.class=sandbox')).toThrow('A constraint should');
});

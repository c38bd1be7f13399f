import { expect, test } from 'vitest';
import { ContainerDirectory } from '../containers/container-directory.ts';
import { SERVER_PROGRAM } from '../containers/server-program.ts';
import { type ContainerPlan, containerSpec } from './container-spec.ts';

const MB = 1024 * 1024;

const PLAN: ContainerPlan = {
  ...{ name: 'name', image: 'image', nested: true, slots: 4, allowNetwork: false },
  limits: { memoryBytes: 512 * MB, cpus: 1.5, processes: 100 },
  user: { uid: 1001, gid: 1002 },
  labels: { label: 'x' },
  directory: new ContainerDirectory('/directory'),
  backend: { isolation: 'auto' },
  daemon: { NCPU: 8 },
  runtime: { name: undefined, ownKernel: false },
};

interface Spec {
  User: string;
  Entrypoint: string[];
  HostConfig: Record<string, unknown> & { SecurityOpt: string[]; Mounts: object[] };
}

function specOf(changes: Partial<ContainerPlan> = {}): Spec {
  return JSON.parse(JSON.stringify(containerSpec({ ...PLAN, ...changes }))) as Spec;
}

const optionsOf = (changes: Partial<ContainerPlan>) => specOf(changes).HostConfig.SecurityOpt;

test('the limits are the given ones, plus what the server inside needs', () => {
  const { HostConfig } = specOf();
  expect(HostConfig).toMatchObject({
    Memory: 640 * MB,
    MemorySwap: 640 * MB,
    NanoCpus: 1.5e9,
    PidsLimit: 464,
  });
  expect(specOf({ daemon: { NCPU: 1 } }).HostConfig.NanoCpus).toBe(1e9);
});

test('a runtime is named, and its own kernel, if it has one, counts the processes', () => {
  expect(specOf().HostConfig).not.toHaveProperty('Runtime');
  const { HostConfig } = specOf({ runtime: { name: 'runsc', ownKernel: true } });
  expect(HostConfig).toMatchObject({
    Runtime: 'runsc',
    Memory: 768 * MB,
    Ulimits: expect.arrayContaining([{ Name: 'nproc', Soft: 464, Hard: 464 }]),
  });
  expect(HostConfig.PidsLimit).toBeGreaterThan(2 * 464);
  // On the kernel of the machine this limit would count the processes of all containers together.
  const names = (specOf().HostConfig.Ulimits as { Name: string }[]).map(({ Name }) => Name);
  expect(names).not.toContain('nproc');
});

test('without limits nothing is limited', () => {
  const { HostConfig } = specOf({ limits: {} });
  for (const name of ['Memory', 'MemorySwap', 'NanoCpus', 'PidsLimit'])
    expect(HostConfig).not.toHaveProperty(name);
});

test('only the program and its own directories are mounted, and only those can be written', () => {
  expect(specOf().HostConfig.Mounts).toEqual([
    { Type: 'bind', Source: SERVER_PROGRAM.nodePath, Target: '/talaria/node', ReadOnly: true },
    { Type: 'bind', Source: SERVER_PROGRAM.packageDir, Target: '/talaria/sandbox', ReadOnly: true },
    { Type: 'bind', Source: '/directory/run', Target: '/talaria/run', ReadOnly: false },
    { Type: 'bind', Source: '/directory/workspaces', Target: '/talaria/workspaces', ReadOnly: false },
  ]);
});

test("the network is none, or the daemon's default", () => {
  expect(specOf().HostConfig.NetworkMode).toBe('none');
  expect(specOf({ allowNetwork: true }).HostConfig.NetworkMode).toBe('default');
});

test("a container whose slots are kept apart inside has our profile, any other Docker's", () => {
  const [first, seccomp = ''] = optionsOf({});
  expect(first).toBe('no-new-privileges');
  const profile = JSON.parse(seccomp.replace(/^seccomp=/, ''));
  expect(profile.syscalls[0].names).toEqual(
    expect.arrayContaining(['bpf', 'init_module', 'keyctl', 'io_uring_setup']),
  );
  expect(specOf().HostConfig).toMatchObject({ MaskedPaths: [], ReadonlyPaths: [] });
  const plain = specOf({ nested: false }).HostConfig;
  expect(plain.SecurityOpt).toEqual(['no-new-privileges']);
  expect(plain).not.toHaveProperty('MaskedPaths');
});

test("a daemon's AppArmor, SELinux and user namespaces are disabled only if they are in the way", () => {
  const apparmor = { NCPU: 1, SecurityOptions: ['name=apparmor', 'name=seccomp,profile=default'] };
  expect(optionsOf({ daemon: apparmor })).toContain('apparmor=unconfined');
  expect(optionsOf({ daemon: apparmor, nested: false })).not.toContain('apparmor=unconfined');
  expect(optionsOf({})).not.toContain('apparmor=unconfined');
  const others = { NCPU: 1, SecurityOptions: ['name=selinux', 'name=userns'] };
  expect(optionsOf({ daemon: others, nested: false })).toContain('label=disable');
  expect(specOf({ daemon: others }).HostConfig.UsernsMode).toBe('host');
});

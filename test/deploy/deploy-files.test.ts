/** What deploy/ says about the server is true: settings, ports, probes, and the time that a stop may take. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { settingList, settings } from '../../packages/server/src/config/settings.ts';
import { ROUTES } from '../conformance/discovery.ts';
import { hasYaml, readYaml, whyNoYaml } from './read-yaml.ts';

const SETTINGS = new Set(settingList.map(([, { env }]) => env));
const PROBES = new Set(['/health/ready', ...ROUTES.map(([, path]) => path)]);
const PORT = settings.port.default;
/** As docs/operations.md says: the limit for runs, and ten seconds for the rest. */
const STOP_S = settings.drainSeconds.default + 10;

const read = (name: string) => readFileSync(new URL(`../../deploy/${name}`, import.meta.url), 'utf8');

test('the seccomp profile is the one of containers that make namespaces', async () => {
  const { seccompProfile } = await import('../../packages/sandbox/src/docker/seccomp-profile.ts');
  expect(JSON.parse(read('seccomp.json'))).toEqual(JSON.parse(seccompProfile()));
});

test('the image starts an existing command with existing settings', () => {
  const dockerfile = read('Dockerfile');
  const set = [...dockerfile.matchAll(/\b((?:API_SERVER|TALARIA)_\w+)=/g)].map((match) => match[1]);
  expect(set).toEqual(['API_SERVER_HOST', 'TALARIA_DATA_DIR']);
  for (const name of set) expect(SETTINGS).toContain(name);
  expect(dockerfile).toContain(`EXPOSE ${PORT}`);
  const command = /CMD \["node", "--[^"]*", "([^"]*)", "serve"\]/.exec(dockerfile)?.[1];
  expect(() => readFileSync(new URL(`../../${command}`, import.meta.url))).not.toThrow();
});

describe.skipIf(!hasYaml)(`compose.yaml${hasYaml ? '' : ` (skipped: ${whyNoYaml})`}`, () => {
  interface Service {
    image: string;
    environment?: Record<string, string | null>;
    healthcheck?: { test: string[] };
    stop_grace_period?: string;
    volumes?: string[];
    depends_on?: Record<string, { condition: string }>;
  }
  const [{ services, volumes, configs } = {} as never] = hasYaml
    ? readYaml<{
        services: Record<string, Service>;
        volumes: Record<string, unknown>;
        configs: { proxy: { content: string } };
      }>('compose.yaml')
    : [];
  const servers = Object.entries(services ?? {}).filter(([name]) => name.startsWith('server-'));

  test('has two servers on one database, each with a data directory of its own', () => {
    expect(servers).toHaveLength(2);
    const [one, two] = servers.map(([, server]) => server);
    const url = settings.advertiseUrl.env;
    expect({ ...one!.environment, [url]: two!.environment![url] }).toEqual(two!.environment);
    expect(new Set(servers.flatMap(([, server]) => server.volumes)).size).toBe(2);
    for (const [name, server] of servers) {
      expect(server.volumes).toEqual([`${name}:/data`]);
      expect(volumes).toHaveProperty(name);
      expect(server.environment![url]).toBe(`http://${name}:${PORT}`);
      expect(server.depends_on).toEqual({ postgres: { condition: 'service_healthy' } });
    }
  });

  test.each(servers)('%s has known settings, a probe, and the time to drain', (_, server) => {
    for (const name of Object.keys(server.environment!)) expect(SETTINGS).toContain(name);
    expect(server.healthcheck!.test.every((word) => typeof word === 'string')).toBe(true);
    const [, url] = /fetch\('(\S+)'\)/.exec(server.healthcheck!.test.join(' '))!;
    expect(new URL(url!).port).toBe(String(PORT));
    expect(PROBES).toContain(new URL(url!).pathname);
    expect(Number(/^(\d+)s$/.exec(server.stop_grace_period!)![1])).toBeGreaterThan(STOP_S);
  });

  test('sends clients to every server that is ready', () => {
    const { content } = configs.proxy;
    for (const [name] of servers) expect(content).toContain(`${name}:${PORT}`);
    expect(PROBES).toContain(/health_uri (\S+)/.exec(content)![1]);
    expect(services.postgres!.healthcheck!.test).toContain('pg_isready');
  });
});

describe.skipIf(!hasYaml)(`kubernetes.yaml${hasYaml ? '' : ` (skipped: ${whyNoYaml})`}`, () => {
  interface Probe {
    httpGet: { path: string; port: string };
  }
  interface Container {
    env: { name: string; value?: string }[];
    ports: { name: string; containerPort: number }[];
    startupProbe: Probe;
    readinessProbe: Probe;
    livenessProbe: Probe;
    lifecycle?: { preStop: { exec: { command: string[] } } };
    volumeMounts: { mountPath: string }[];
  }
  interface Workload {
    kind: string;
    metadata: { name: string };
    spec: {
      replicas: number;
      selector: { matchLabels: Record<string, string> };
      template: {
        metadata: { labels: Record<string, string> };
        spec: {
          terminationGracePeriodSeconds: number;
          securityContext: { runAsNonRoot: boolean; runAsUser: number };
          containers: Container[];
        };
      };
      volumeClaimTemplates?: unknown[];
    };
  }
  interface Selecting {
    kind: string;
    spec: { selector: Record<string, string> & { matchLabels?: Record<string, string> } };
  }
  const objects = hasYaml ? readYaml<Workload | Selecting>('kubernetes.yaml') : [];
  const workloads = objects.filter((object): object is Workload => 'template' in object.spec);
  const cases = workloads.map((workload) => [workload.kind, workload] as const);

  test('has servers for clients, and servers that work and keep their files', () => {
    const roles = workloads.map(({ kind, spec }) => [
      kind,
      spec.template.spec.containers[0]!.env.find(({ name }) => name === settings.role.env)?.value,
      spec.replicas,
      spec.volumeClaimTemplates?.length,
    ]);
    expect(roles).toEqual([
      ['Deployment', 'http', 2, undefined],
      ['StatefulSet', 'work', 2, 1],
    ]);
  });

  test.each(cases)(
    'the %s has known settings, probes of routes that need no key, and the time to drain',
    (_, { spec }) => {
      const { template, selector } = spec;
      const { containers, securityContext, terminationGracePeriodSeconds } = template.spec;
      const [container] = containers as [Container];
      expect(template.metadata.labels).toMatchObject(selector.matchLabels);
      // An entry without a value only exists so that others can refer to it.
      for (const { name, value } of container.env) if (value) expect(SETTINGS).toContain(name);
      expect(container.ports).toEqual([{ name: 'http', containerPort: PORT }]);
      expect(container.readinessProbe.httpGet).toEqual({ path: '/health/ready', port: 'http' });
      expect(container.livenessProbe.httpGet).toEqual({ path: '/health', port: 'http' });
      expect(container.startupProbe.httpGet).toEqual({ path: '/health', port: 'http' });
      const preStopS = Number(container.lifecycle?.preStop.exec.command[1] ?? 0);
      expect(terminationGracePeriodSeconds).toBeGreaterThan(STOP_S + preStopS);
      expect(container.volumeMounts.map(({ mountPath }) => mountPath)).toContain('/data');
      expect(securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 10001 });
    },
  );

  test('every service and budget selects existing pods', () => {
    const labels = workloads.map(({ spec }) => spec.template.metadata.labels);
    const others = objects.filter((object): object is Selecting => !('template' in object.spec));
    expect(others.map(({ kind }) => kind).sort()).toEqual([
      'PodDisruptionBudget',
      'PodDisruptionBudget',
      'Service',
      'Service',
    ]);
    for (const { spec } of others) {
      const wanted = spec.selector.matchLabels ?? spec.selector;
      expect(labels.filter((label) => Object.entries(wanted).every(([k, v]) => label[k] === v))).toHaveLength(
        1,
      );
    }
  });

  test('the secrets that it tells you to create are named like settings', () => {
    const literals = [...read('kubernetes.yaml').matchAll(/--from-literal=(\w+)=/g)].map((match) => match[1]);
    expect(literals.length).toBeGreaterThan(0);
    for (const name of literals) expect(SETTINGS).toContain(name);
  });
});

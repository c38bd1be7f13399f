import { describe, expect, it } from 'vitest';
import { keptSandboxes } from './backend-rules.ts';
import { load, problemsOf } from './testing/load.ts';

const DOCKER = { TALARIA_BACKEND: 'docker', TALARIA_DOCKER_IMAGE: 'debian:stable' };

describe('a backend with containers', () => {
  it('needs an image', () => {
    expect(problemsOf({ env: { TALARIA_BACKEND: 'docker' } })).toEqual([
      expect.stringMatching(/^TALARIA_BACKEND is docker and no image is named; set TALARIA_DOCKER_IMAGE /),
    ]);
    expect(load({ env: DOCKER }).config).toMatchObject({ backend: 'docker', dockerImage: 'debian:stable' });
  });

  it('on Nomad needs an image for the driver docker, one slot per container there, and an address', () => {
    const nomad = { TALARIA_BACKEND: 'nomad' };
    expect(problemsOf({ env: nomad })).toEqual([expect.stringContaining('set TALARIA_NOMAD_IMAGE')]);
    const image = { ...nomad, TALARIA_NOMAD_IMAGE: 'sandbox:1' };
    expect(load({ env: image }).config).toMatchObject({ backend: 'nomad', nomadDriver: 'docker' });
    expect(problemsOf({ env: { ...image, TALARIA_SLOTS_PER_CONTAINER: '2' } })).toEqual([
      expect.stringMatching(/^TALARIA_SLOTS_PER_CONTAINER is 2; allowed: 1/),
    ]);
    const plain = { ...nomad, TALARIA_NOMAD_DRIVER: 'raw_exec', TALARIA_SLOTS_PER_CONTAINER: '2' };
    expect(load({ env: plain }).config.nomadDriver).toBe('raw_exec');
    expect(problemsOf({ env: { ...plain, NOMAD_ADDR: 'nomad:4646' } })).toEqual([
      expect.stringMatching(/^NOMAD_ADDR is "nomad:4646"; allowed: http/),
    ]);
  });

  it('on Kubernetes needs an image, one slot per container, and labels and taints in their form', () => {
    const kubernetes = { TALARIA_BACKEND: 'kubernetes' };
    expect(problemsOf({ env: kubernetes })).toEqual([
      expect.stringContaining('set TALARIA_KUBERNETES_IMAGE'),
    ]);
    const image = { ...kubernetes, TALARIA_KUBERNETES_IMAGE: 'sandbox:1' };
    expect(load({ env: image }).config).toMatchObject({
      backend: 'kubernetes',
      kubernetesImage: 'sandbox:1',
    });
    expect(problemsOf({ env: { ...image, TALARIA_SLOTS_PER_CONTAINER: '2' } })).toEqual([
      expect.stringMatching(/^TALARIA_SLOTS_PER_CONTAINER is 2; allowed: 1/),
    ]);
    expect(
      problemsOf({
        env: {
          ...image,
          TALARIA_KUBERNETES_NODE_SELECTOR: 'pool=a, b',
          TALARIA_KUBERNETES_TOLERATIONS: 'a:NoSchedule, b=c:Never',
        },
      }),
    ).toEqual([
      'TALARIA_KUBERNETES_NODE_SELECTOR has "b"; allowed: label=value, separated by commas',
      expect.stringMatching(/^TALARIA_KUBERNETES_TOLERATIONS has "b=c:Never"; allowed: key, /),
    ]);
  });

  it('reports a constraint of Nomad that is none', () => {
    const nomad = { TALARIA_BACKEND: 'nomad', TALARIA_NOMAD_DRIVER: 'raw_exec' };
    const constraints = (text: string) => problemsOf({ env: { ...nomad, TALARIA_NOMAD_CONSTRAINTS: text } });
    expect(constraints('node.class = a; node.class=b')).toEqual([
      expect.stringMatching(/^TALARIA_NOMAD_CONSTRAINTS has "node.class=b"; allowed: an attribute, /),
    ]);
    // Some operators have no value.
    expect(constraints('meta.a is_set; attr.cpu.arch = amd64')).toEqual([]);
  });

  it('has by default as many containers as its runs need', () => {
    const containers = (env: Record<string, string>) =>
      load({ env: { ...DOCKER, ...env } }).config.maxContainers;
    expect(containers({})).toBe(20);
    expect(containers({ TALARIA_SLOTS_PER_CONTAINER: '4' })).toBe(5);
    expect(containers({ TALARIA_MIN_CONTAINERS: '22' })).toBe(22);
    expect(containers({ TALARIA_WARM_SLOTS: '60', TALARIA_SLOTS_PER_CONTAINER: '2' })).toBe(30);
  });

  it('lets as many waiting runs keep their sandbox as may work, without taking a slot from those', () => {
    const kept = (env: Record<string, string>) => keptSandboxes(load({ env }).config);
    expect(kept({})).toBe(10);
    expect(kept({ TALARIA_MAX_CONCURRENT_RUNS: '3' })).toBe(3);
    expect(kept({ ...DOCKER })).toBe(10);
    expect(kept({ ...DOCKER, TALARIA_MAX_CONTAINERS: '12' })).toBe(2);
    expect(kept({ ...DOCKER, TALARIA_MAX_CONTAINERS: '4' })).toBe(0);
    expect(kept({ ...DOCKER, TALARIA_SLOTS: 'true', TALARIA_MAX_SLOTS: '6' })).toBe(10);
  });

  it('reports settings that contradict each other', () => {
    const env = {
      ...DOCKER,
      TALARIA_MIN_CONTAINERS: '3',
      TALARIA_MAX_CONTAINERS: '2',
      TALARIA_WARM_SLOTS: '5',
    };
    expect(problemsOf({ env })).toEqual([
      'TALARIA_MIN_CONTAINERS is 3 and TALARIA_MAX_CONTAINERS is 2; allowed: a minimum up to the maximum',
      'TALARIA_WARM_SLOTS is 5, but TALARIA_MAX_CONTAINERS and TALARIA_SLOTS_PER_CONTAINER make 2 slots; allowed: up to that many',
    ]);
    expect(load({ env: { ...DOCKER, TALARIA_MAX_CONTAINERS: '4' } }).warnings).toEqual([
      '10 runs may be worked on at the same time, but TALARIA_MAX_CONTAINERS and TALARIA_SLOTS_PER_CONTAINER make 4 slots; the others wait for one',
    ]);
  });

  it('needs room for runs and for slots of clients, or does not start', () => {
    const slots = { ...DOCKER, TALARIA_SLOTS: 'true', TALARIA_MAX_SLOTS: '6' };
    expect(load({ env: slots }).config.maxContainers).toBe(26);
    expect(problemsOf({ env: { ...slots, TALARIA_MAX_CONTAINERS: '15' } })).toEqual([
      'TALARIA_MAX_CONTAINERS and TALARIA_SLOTS_PER_CONTAINER make 15 slots, too few for 10 runs and 6 slots of clients at the same time; ' +
        'allowed: TALARIA_MAX_CONTAINERS up, or TALARIA_MAX_CONCURRENT_RUNS or TALARIA_MAX_SLOTS down',
    ]);
  });

  it('takes the runtime from the environment, a flag or the file', () => {
    const runtime = (from: Parameters<typeof load>[0]) => load(from).config.dockerRuntime;
    expect(runtime({ env: DOCKER })).toBeUndefined();
    expect(runtime({ env: { ...DOCKER, TALARIA_DOCKER_RUNTIME: 'runsc' } })).toBe('runsc');
    expect(runtime({ env: DOCKER, argv: ['--docker-runtime', 'runsc'] })).toBe('runsc');
    const files = { '/srv/c.json': '{"docker_runtime": "runsc"}' };
    expect(runtime({ env: DOCKER, argv: ['--config', '/srv/c.json'], files })).toBe('runsc');
  });

  it('checks DOCKER_HOST only if it is used', () => {
    const env = { DOCKER_HOST: 'ssh://somebody@somewhere' };
    expect(load({ env }).config.backend).toBe('local');
    expect(problemsOf({ env: { ...DOCKER, ...env } })).toEqual([
      'DOCKER_HOST is "ssh://somebody@somewhere"; allowed: unix:///path/to/docker.sock or tcp://host:port',
    ]);
  });

  it('takes both halves of a token for Modal, or neither', () => {
    const modal = { TALARIA_BACKEND: 'modal' };
    expect(load({ env: modal }).config).toMatchObject({ backend: 'modal', modalImage: 'debian:13' });
    const whole = { ...modal, MODAL_TOKEN_ID: 'ak-1', MODAL_TOKEN_SECRET: 'as-1' };
    expect(load({ env: whole }).config).toMatchObject({ modalTokenId: 'ak-1', modalTokenSecret: 'as-1' });
    expect(problemsOf({ env: { ...modal, MODAL_TOKEN_ID: 'ak-1' } })).toEqual([
      'MODAL_TOKEN_ID is set and MODAL_TOKEN_SECRET is not; set both, or neither to use ~/.modal.toml',
    ]);
    expect(problemsOf({ env: { ...modal, MODAL_TOKEN_SECRET: 'as-1' } })).toEqual([
      'MODAL_TOKEN_SECRET is set and MODAL_TOKEN_ID is not; set both, or neither to use ~/.modal.toml',
    ]);
    expect(load({ env: { MODAL_TOKEN_ID: 'ak-1' } }).config.backend).toBe('local');
  });
});

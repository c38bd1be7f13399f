/** Slots in containers of a Nomad cluster. docs/nomad.md tells what it needs. */
import { ContainerBackend } from '../containers/container-backend.ts';
import type { ContainerBackendOptions } from '../containers/container-options.ts';
import type { SandboxLimits } from '../limits.ts';
import { type JobSettings, OWN_PROGRAM } from './job-spec.ts';
import { NomadApi, type NomadOptions } from './nomad-api.ts';
import { NomadDriver } from './nomad-driver.ts';

export const DEFAULT_NOMAD_ADDRESS = 'http://127.0.0.1:4646';

const GIGABYTE = 1024 ** 3;
const DEFAULT_LIMITS: SandboxLimits = { memoryBytes: 2 * GIGABYTE, processes: 512 };
const DEFAULT_SETTINGS = {
  program: OWN_PROGRAM,
  datacenters: ['*'],
  constraints: [],
  cpuMhz: 100,
  memoryMb: 512,
  diskMb: 300,
} as const;

export interface NomadBackendOptions extends ContainerBackendOptions {
  nomad?: Partial<NomadOptions> | undefined;
  /** `driver`, and the settings that differ from the defaults. */
  job: Partial<JobSettings> & Pick<JobSettings, 'driver'>;
}

export class NomadBackend extends ContainerBackend {
  constructor({ nomad, job, ...options }: NomadBackendOptions) {
    const api = new NomadApi({ ...nomad, address: nomad?.address ?? DEFAULT_NOMAD_ADDRESS });
    const { namespace, region } = nomad ?? {};
    const driver = new NomadDriver(api, { ...DEFAULT_SETTINGS, namespace, region, ...job });
    const usual = job.driver === 'docker' ? DEFAULT_LIMITS : {};
    super(driver, { ...options, limits: options.limits ?? usual });
  }
}

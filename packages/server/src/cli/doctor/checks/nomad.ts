/** Nomad: an agent that answers, and a token that may do what is needed. */
import { NomadApi, type NomadOptions } from '@talaria/sandbox/nomad';
import type { Config } from '../../../config/index.ts';
import { nomadOptions } from '../../../start/nomad-options.ts';
import type { Finding } from '../finding.ts';

export async function checkNomad(config: Config): Promise<Finding> {
  const { nomadAddress, nomadDriver, nomadNamespace = 'default' } = config;
  const api = new NomadApi(nomadOptions(config).nomad as NomadOptions);
  try {
    await api.leader();
    await api.listJobs('talaria-');
  } catch (error) {
    const fix = 'Start Nomad, check NOMAD_ADDR and NOMAD_TOKEN, or use TALARIA_BACKEND=local (docs/nomad.md)';
    return { status: 'failed', detail: (error as Error).message, fix };
  }
  return { status: 'ok', detail: `${nomadAddress}, namespace ${nomadNamespace}, driver ${nomadDriver}` };
}

/** The settings of Nomad, as its backend takes them. */
import type { NomadBackendOptions } from '@talaria/sandbox/nomad';
import { listOf } from '../basics/list-of.ts';
import type { Config } from '../config/index.ts';

export function nomadOptions(config: Config): Required<Pick<NomadBackendOptions, 'nomad' | 'job'>> {
  const { nomadProgram } = config;
  return {
    nomad: {
      address: config.nomadAddress,
      token: config.nomadToken,
      httpAuth: config.nomadHttpAuth,
      namespace: config.nomadNamespace,
      region: config.nomadRegion,
      caCert: config.nomadCaCert,
      caPath: config.nomadCaPath,
      clientCert: config.nomadClientCert,
      clientKey: config.nomadClientKey,
      tlsServerName: config.nomadTlsServerName,
      skipVerify: config.nomadSkipVerify,
    },
    job: {
      driver: config.nomadDriver,
      image: config.nomadImage,
      ...(nomadProgram === undefined ? {} : { program: [nomadProgram] }),
      datacenters: listOf(config.nomadDatacenters, ','),
      constraints: listOf(config.nomadConstraints ?? '', ';'),
      cpuMhz: config.nomadCpuMhz,
      memoryMb: config.nomadMemoryMb,
    },
  };
}

/**
 * Creates the configured sandbox; the drivers of the others are not loaded. `onTrouble` gets later problems, as a
 * sentence for the log.
 */
import type { ToolBackend } from '@talaria/sandbox';
import { requiredImage } from '../config/backend-rules.ts';
import type { Config } from '../config/index.ts';
import { kubernetesOptions } from './kubernetes-options.ts';
import { nomadOptions } from './nomad-options.ts';
import { configuredLimits } from './sandbox-limits.ts';

export async function configuredBackend(
  config: Config,
  workspacesDir: string,
  onTrouble: (message: string) => void,
): Promise<ToolBackend> {
  const common = {
    workspacesDir,
    defaultTimeoutS: config.toolTimeoutSeconds,
    allowNetwork: config.allowNetwork,
    ...configuredLimits(config),
  };
  const pooling = {
    slotsPerContainer: config.slotsPerContainer,
    minContainers: config.minContainers,
    maxContainers: config.maxContainers,
    warmSlots: config.warmSlots,
    acquireTimeoutS: config.acquireTimeoutSeconds,
    onTrouble,
  };
  switch (config.backend) {
    case 'local': {
      const { LocalBackend } = await import('@talaria/sandbox/local');
      return new LocalBackend({
        ...common,
        isolation: config.sandboxIsolation,
        users: config.sandboxUsers,
        hiddenPaths: [config.dataDir],
        mountable: config.directories.flatMap(({ mode, path }) => (mode === 'mount' ? [path] : [])),
      });
    }
    case 'docker': {
      const { DockerBackend } = await import('@talaria/sandbox/docker');
      return new DockerBackend({
        ...common,
        ...pooling,
        image: requiredImage(config, 'dockerImage'),
        dockerHost: config.dockerHost,
        runtime: config.dockerRuntime,
      });
    }
    case 'kubernetes': {
      const { KubernetesBackend } = await import('@talaria/sandbox/kubernetes');
      return new KubernetesBackend({ ...common, ...kubernetesOptions(config), ...pooling });
    }
    case 'modal': {
      const { ModalBackend } = await import('@talaria/sandbox/modal');
      return new ModalBackend({
        ...common,
        ...pooling,
        tokenId: config.modalTokenId,
        tokenSecret: config.modalTokenSecret,
        environment: config.modalEnvironment,
        app: config.modalApp,
        image: config.modalImage,
        regions: config.modalRegions?.split(',').map((region) => region.trim()),
        reservedCpus: config.modalCpus,
        reservedMemoryMb: config.modalMemoryMb,
        lifetimeS: config.modalTimeoutSeconds,
      });
    }
    case 'nomad': {
      const { NomadBackend } = await import('@talaria/sandbox/nomad');
      return new NomadBackend({ ...common, ...nomadOptions(config), ...pooling });
    }
  }
}

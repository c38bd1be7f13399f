/** Modal: its SDK, and a token that it takes. */
import { connectModal } from '@talaria/sandbox/modal';
import type { Config } from '../../../config/index.ts';
import type { Finding } from '../finding.ts';

export async function checkModal(config: Config): Promise<Finding> {
  const { modalTokenId, modalTokenSecret, modalEnvironment, modalApp, modalImage } = config;
  try {
    await connectModal({
      appName: modalApp,
      tokenId: modalTokenId,
      tokenSecret: modalTokenSecret,
      environment: modalEnvironment,
    });
  } catch (error) {
    const fix = "Install Modal's SDK and set a token, or use TALARIA_BACKEND=local (docs/modal.md)";
    return { status: 'failed', detail: (error as Error).message, fix };
  }
  return { status: 'ok', detail: `takes the token; app ${modalApp}, image ${modalImage}` };
}

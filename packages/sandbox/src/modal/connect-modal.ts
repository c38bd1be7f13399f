/** A client of Modal and its app, by the credentials that are given or those that Modal's own programs would find. */
import {
  loadModalSdk,
  type ModalApp,
  type ModalClient,
  type ModalClientParams,
  type ModalSdk,
} from './modal-sdk.ts';
import { within } from './within.ts';

const ANSWER_WITHIN_MS = 30_000;

/** Each failure is already an error of its call. The SDK would only add lines to the log of the program around it. */
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

export interface ModalConnection {
  appName: string;
  tokenId?: string | undefined;
  tokenSecret?: string | undefined;
  environment?: string | undefined;
  sdk?: ModalSdk | undefined;
}

export interface ConnectedModal {
  sdk: ModalSdk;
  client: ModalClient;
  app: ModalApp;
}

/** Rejects if the SDK is missing, or if Modal does not answer or does not accept the token. */
export async function connectModal(options: ModalConnection): Promise<ConnectedModal> {
  const { appName, tokenId, tokenSecret, environment } = options;
  const sdk = options.sdk ?? (await loadModalSdk());
  const params: ModalClientParams = {
    ...(tokenId === undefined ? {} : { tokenId }),
    ...(tokenSecret === undefined ? {} : { tokenSecret }),
    ...(environment === undefined ? {} : { environment }),
    logger: SILENT,
  };
  const client = new sdk.ModalClient(params);
  const app = client.apps.fromName(appName, { createIfMissing: true });
  return { sdk, client, app: await within(ANSWER_WITHIN_MS, 'answer', app) };
}

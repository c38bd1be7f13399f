/** What every server under test has, and the settings it starts with, however it runs. */
export interface RunningServer extends AsyncDisposable {
  readonly url: string;
  readonly dataDir: string;
}

export interface ServerOptions {
  /** The model's base URL; without it the server runs its demo model. */
  modelUrl?: string;
  /** Further settings, as environment variables. */
  env?: Record<string, string>;
  dataDir?: string;
}

export function serverSettings(
  { modelUrl, env }: ServerOptions,
  dataDir: string,
  own: Record<string, string> = {},
): Record<string, string> {
  return {
    HOME: dataDir,
    API_SERVER_PORT: '0',
    TALARIA_DATA_DIR: dataDir,
    TALARIA_LOG_LEVEL: 'warn',
    // Where no isolation works (a container without user namespaces) the tests still have to run commands.
    TALARIA_APPROVALS_UNISOLATED: 'skip',
    ...(modelUrl === undefined ? {} : { OPENAI_BASE_URL: modelUrl, TALARIA_MODEL: 'scripted' }),
    ...env,
    ...own,
  };
}

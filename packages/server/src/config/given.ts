/** A value as the user gave it, before it is read: the value, where it came from, and how messages name it. */
import type { SettingName } from './settings.ts';

export interface Given {
  readonly form: 'text' | 'json';
  readonly value: unknown;
  /** The setting as the user wrote it: `--port`, `API_SERVER_PORT`, `port in /etc/talaria.json`. */
  readonly label: string;
  /** Where it came from, for display: `flag --port`, `environment`, `file /etc/talaria.json`. */
  readonly source: string;
  /** What a relative path is relative to. */
  readonly baseDir: string;
}

export type GivenValues = ReadonlyMap<SettingName, Given>;

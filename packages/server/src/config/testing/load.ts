/** Shared by the tests of this folder: a load with nothing given, and the problems of one that fails. */
import { ConfigError, type LoadOptions, loadConfig } from '../load.ts';

export interface Files {
  [path: string]: string;
}

export function load(options: Partial<LoadOptions> & { files?: Files } = {}) {
  const { files = {}, ...rest } = options;
  const readFile = (path: string) => {
    const text = files[path];
    if (text === undefined) throw Object.assign(new Error('absent'), { code: 'ENOENT' });
    return text;
  };
  return loadConfig({ argv: [], env: {}, homeDir: '/home/ada', cwd: '/srv', readFile, ...rest });
}

export function problemsOf(options: Parameters<typeof load>[0]): readonly string[] {
  try {
    load(options);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

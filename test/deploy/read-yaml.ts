/**
 * The documents of a YAML file. Nothing else here reads YAML, so this uses the parser of the machine's Python, if it
 * has one.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const PROGRAM = 'import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(sys.stdin))))';

export const hasYaml = spawnSync('python3', ['-c', 'import yaml']).status === 0;
export const whyNoYaml = 'no Python with PyYAML on this machine';

export function readYaml<T>(file: string): T[] {
  const input = readFileSync(new URL(`../../deploy/${file}`, import.meta.url), 'utf8');
  const { status, stdout, stderr } = spawnSync('python3', ['-c', PROGRAM], { input, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${file}: ${stderr}`);
  return JSON.parse(stdout) as T[];
}

/**
 * Reads the text of a configuration file into given values. The file is one JSON object; a key with a dot in the
 * table is a nested object here. An unknown key is an error: if a misspelt key were silently ignored, its default would
 * stay in force.
 */
import { dirname } from 'node:path';
import { didYouMean, meantBy } from '../basics/nearest.ts';
import type { Given, GivenValues } from './given.ts';
import { isJsonObject } from './kinds/json-object.ts';
import { type SettingName, settingList } from './settings.ts';

export interface ConfigFile {
  readonly given: GivenValues;
  readonly problems: readonly string[];
}

const namesByKey = new Map(settingList.map(([name, setting]) => [setting.key, name]));
const sections = new Set(
  [...namesByKey.keys()].filter((key) => key.includes('.')).map((key) => key.slice(0, key.lastIndexOf('.'))),
);

export function readConfigFile(path: string, text: string): ConfigFile {
  const given = new Map<SettingName, Given>();
  const problems: string[] = [];
  const root = parseJson(text);
  if ('syntax' in root) {
    return { given, problems: [`${path} is not valid JSON${root.syntax}`] };
  }
  if (!isJsonObject(root.json)) {
    return { given, problems: [`${path} must hold one JSON object, like {"port": 8642}`] };
  }

  const walk = (object: object, prefix: string) => {
    for (const [word, value] of Object.entries(object)) {
      const key = `${prefix}${word}`;
      const label = `${key} in ${path}`;
      const name = word.includes('.') ? undefined : namesByKey.get(key);
      if (name !== undefined) {
        given.set(name, { form: 'json', value, label, source: `file ${path}`, baseDir: dirname(path) });
      } else if (sections.has(key) && isJsonObject(value)) {
        walk(value, `${key}.`);
      } else if (sections.has(key)) {
        problems.push(`${label} must be an object with the keys ${keysOf(key).join(', ')}`);
      } else {
        problems.push(`unknown key ${label}${suggest(key)}`);
      }
    }
  };
  walk(root.json, '');
  return { given, problems };
}

function suggest(key: string): string {
  if (namesByKey.has(key)) {
    const [section, word] = key.split('.');
    return `; write it nested: {"${section}": {"${word}": …}}`;
  }
  const [section = '', word] = key.split('.');
  const inSection = keysOf(section);
  // Within a section only the rest of a key is compared: the section alone would make any two keys look similar.
  if (word !== undefined && inSection.length > 0) {
    const meant = meantBy(word, inSection).map((one) => `${section}.${one}`);
    return meant.length === 0
      ? `; ${section} has the keys ${inSection.join(', ')}`
      : `; did you mean ${meant.join(' or ')}?`;
  }
  return didYouMean(key, namesByKey.keys());
}

function keysOf(section: string): string[] {
  return [...namesByKey.keys()]
    .filter((key) => key.startsWith(`${section}.`))
    .map((key) => key.slice(section.length + 1));
}

/** The parser's own message quotes the text around the mistake, which may be a key; only the position is kept. */
function parseJson(text: string): { json: unknown } | { syntax: string } {
  try {
    return { json: JSON.parse(text.replace(/^\ufeff/, '')) };
  } catch (error) {
    const place = /line \d+ column \d+/.exec(String(error));
    return { syntax: place === null ? '' : `: ${place[0]}` };
  }
}

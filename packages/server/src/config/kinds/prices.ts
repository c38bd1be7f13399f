/** What models cost, as a JSON object: name of the model → US dollars per million tokens. */
import type { Price, Prices } from '../../agent/price.ts';
import { isJsonObject, type JsonObject, readsJsonObject } from './json-object.ts';
import { type Kind, type Read, showGiven } from './kinds.ts';

const FIELDS = ['input', 'cached', 'output'];
const NAME_CHARS_MAX = 256;

export function prices(): Kind<Prices> {
  return {
    name: 'json',
    allowed:
      'a JSON object of prices by model, each {"input", "cached", "output"} in US dollars per million tokens',
    secret: false,
    ...readsJsonObject(readPrices),
    shown: showGiven,
    format: (all) => JSON.stringify(Object.fromEntries(all)),
  };
}

function readPrices(object: JsonObject): Read<Prices> {
  const problems: string[] = [];
  const all = Object.entries(object).flatMap(([model, entry]): [string, Price][] => {
    const problem = problemOf(model, entry);
    if (problem === undefined) return [[model, entry as Price]];
    problems.push(`${JSON.stringify(model.slice(0, 40))} ${problem}`);
    return [];
  });
  return problems.length === 0 ? { value: new Map(all) } : { refused: problems.join('; ') };
}

function problemOf(model: string, entry: unknown): string | undefined {
  if (model === '' || model.length > NAME_CHARS_MAX)
    return `must be a name of 1 to ${NAME_CHARS_MAX} characters`;
  if (!isJsonObject(entry)) return 'must be an object';
  const unknown = Object.keys(entry).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) return `has the unknown field ${JSON.stringify(unknown.slice(0, 40))}`;
  const { input, cached = 0, output } = entry;
  const isPrice = (value: unknown) => typeof value === 'number' && Number.isFinite(value) && value >= 0;
  if (![input, cached, output].every(isPrice))
    return "needs 'input' and 'output' that are numbers of at least 0";
  return undefined;
}

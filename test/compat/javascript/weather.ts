/** The tool of the clients, and the schema of a typed answer; the same in ../python/harness.py. */
export function celsius({ city }: { city: string }): { celsius: number } {
  return { celsius: city === 'Oslo' ? 12 : 21 };
}

export const WEATHER_SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' }, celsius: { type: 'number' } },
  required: ['city', 'celsius'],
  additionalProperties: false,
};

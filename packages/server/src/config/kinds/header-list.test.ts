import { expect, it } from 'vitest';
import { configSecrets, describeConfig } from '../describe.ts';
import { load, problemsOf } from '../testing/load.ts';

const SETTING = 'OTEL_EXPORTER_OTLP_HEADERS';

it('reads a list with escapes, and an object as it is', () => {
  const { config } = load({ env: { [SETTING]: 'authorization=Bearer%20s3cret-key, x-team = a%2Cb' } });
  expect(config.otlpHeaders).toEqual([
    { name: 'authorization', value: 'Bearer s3cret-key' },
    { name: 'x-team', value: 'a,b' },
  ]);
  const files = { '/home/ada/.talaria/config.json': '{"otel_exporter_otlp_headers": {"x-key": "100%"}}' };
  expect(load({ files }).config.otlpHeaders).toEqual([{ name: 'x-key', value: '100%' }]);
});

it.each(['', ' , '])('%j is not set', (text) => {
  const problems = problemsOf({ env: { [SETTING]: text } });
  expect(problems).toHaveLength(text === '' ? 0 : 1);
});

it.each([
  'no-value',
  '=value',
  'na me=value',
  'name=',
  'name=%0d%0aother:%20x',
  'name=%E0%A4%A',
  'name=caf%C3%A9',
])('%s is refused, without a word of it', (text) => {
  const [problem] = problemsOf({ env: { [SETTING]: `x-good=s3cret,${text}` } });
  expect(problem).toBe(
    `${SETTING} is ***: entry 2 is not a header; allowed: name=value,name=value with names and values that HTTP headers can have`,
  );
});

it('names its credentials for masking, and shows only the names of the headers', () => {
  const { config } = load({ env: { [SETTING]: 'authorization=Bearer%20s3cret-key,x-team=garden' } });
  expect(configSecrets(config)).toEqual(['Bearer s3cret-key', 's3cret-key']);
  expect(describeConfig(config)).toContainEqual([SETTING, 'authorization=***,x-team=***', 'environment']);
});

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: shell text, not template strings
import { describe, expect, it } from 'vitest';
import { classifyCommand } from './classify.ts';

const MEGABYTE = 1_000_000;
const UNITS = [
  ...[
    '(',
    '{',
    '{ ',
    '$(',
    '`',
    '\\`',
    '${',
    '${x:-',
    '"',
    "'",
    '\\',
    '"$(',
    '$((',
    '((',
    '[[ ',
    '<(',
    '$[',
    '[',
    '*',
    '~',
    '!',
    '#',
  ],
  ...[
    'a;',
    'a ',
    'a|',
    'a&',
    ';',
    '|',
    '&',
    '<',
    '>',
    ')',
    '}',
    ';;',
    '\n',
    '\t',
    '\\\n',
    '<<a ',
    '<<E\nx\nE\n',
    'echo a|',
    'x=1 ',
  ],
  ...[
    '$x',
    '{a,',
    '{a,b}',
    'x=$x$x;',
    'a=1;b=$a;',
    'f(){ ',
    'f(){ f;};f;',
    'if ',
    'while ',
    'for x in ',
    'case x in ',
    'time ',
    'then ',
  ],
  ...[
    'eval ',
    'sudo ',
    'env ',
    'xargs ',
    'sh -c ',
    'find -exec ',
    '../',
    '/',
    '-',
    '=',
    '${x//',
    'psql -c "',
    "psql '/*",
    'awk "|',
    'sed s/',
    '\u001b[',
    '\u001b]',
    '\ufdfa',
  ],
];

/** Far above what linear work takes on any machine, far below what quadratic work takes on this much text. */
const LINEAR_CPU_MS = 15_000;

describe('a megabyte of hostile text', () => {
  it.each(UNITS)('%j repeated is judged without going over it again and again', (unit) => {
    const command = unit.repeat(Math.floor(MEGABYTE / unit.length));
    const start = process.cpuUsage();
    classifyCommand(command);
    const { user, system } = process.cpuUsage(start);
    expect((user + system) / 1_000).toBeLessThan(LINEAR_CPU_MS);
  });
});

describe('what exceeds the limits asks', () => {
  const doubled = Array.from({ length: 60 }, (_, i) => `a${i + 1}=$a${i}$a${i};`).join('');
  const nested = Array.from({ length: 12 })
    .reduce<string>((inner) => `sh -c ${JSON.stringify(inner)}`, 'ls')
    .slice(0, MEGABYTE);
  const loops = Array.from({ length: 12 }, (_, i) => `for v${i} in a b c; do `).join('');
  const uses = Array.from({ length: 12 }, (_, i) => `$v${i}`).join('');

  it.each([
    ['nested substitutions', `${'$('.repeat(100)}ls${')'.repeat(100)}`],
    ['nested subshells', `${'( '.repeat(100)}ls${' )'.repeat(100)}`],
    ['values that double', `a0=xxxxxxxxxxxxxxxx;${doubled} echo $a60`],
    ['combinations of loop variables', `${loops} echo ${uses}; ${'done;'.repeat(12)}`],
    ['brace products', `echo ${'{a,b}'.repeat(20)}`],
    ['many commands', 'ls;'.repeat(100_000)],
  ])('%s', (_name, command) => {
    const verdict = classifyCommand(command);
    expect(verdict).toMatchObject({
      kind: 'ask',
      keys: expect.arrayContaining(['command too complex to inspect']),
    });
  });

  it('without losing what was found before', () => {
    expect(classifyCommand(`rm -rf /; ${'$('.repeat(100)}`)).toMatchObject({ kind: 'never' });
    expect(classifyCommand(`rm -rf x; ${'$('.repeat(100)}`)).toMatchObject({
      keys: expect.arrayContaining(['recursive delete']),
    });
  });

  it('and a deeply quoted command still ends', () => {
    expect(['allow', 'ask']).toContain(classifyCommand(nested).kind);
  });

  it('but a large document written to a file is allowed', () => {
    const document = 'it\'s "quoted" $(text) `here`; rm -rf /\n'.repeat(20_000);
    expect(classifyCommand(`cat > notes.md <<'EOF'\n${document}EOF\n`)).toEqual({ kind: 'allow' });
  });
});

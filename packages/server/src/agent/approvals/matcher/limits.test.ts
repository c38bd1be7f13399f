// biome-ignore-all lint/suspicious/noTemplateCurlyInString: shell text, not template strings
import { describe, expect, it } from 'vitest';
import { Budget, MAX_COMMAND_CHARS, MAX_WORK } from './budget.ts';
import { classifyCommand } from './classify.ts';
import { parseRule } from './command-rules.ts';

const TOO_COMPLEX = { kind: 'ask', keys: expect.arrayContaining(['command too complex to inspect']) };

/** Beyond the bound by no more than one piece of work, which is refused before it is done. */
const WORK_BOUND = 4 * MAX_WORK;

function workFor(command: string): number {
  const budget = new Budget();
  classifyCommand(command, { budget });
  return budget.work;
}

const UNITS = [
  ...['(', '{', '{ ', '$(', '`', '\\`', '${', '${x:-', '"', "'", '\\', '"$(', '$((', '((', '[[ ', '<(', '$['],
  ...[
    '[',
    '*',
    '~',
    '!',
    '#',
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
  ],
  ...[
    '<<a ',
    '<<a\n',
    '<<E\nx\nE\n',
    'echo a|',
    'x=1 ',
    '$x',
    '{a,',
    '{a,b}',
    'x=$x$x;',
    'a=1;b=$a;',
    'f(){ ',
  ],
  ...['f(){ f;};f;', 'if ', 'while ', 'for x in ', 'case x in ', 'time ', 'then ', 'eval ', 'sudo ', 'env '],
  ...['xargs ', 'sh -c ', 'find -exec ', '../', '/', '-', '=', '${x//', 'psql -c "', "psql '/*", 'awk "|'],
  ...['sed s/', '\u001b[', '\u001b]', '\ufdfa', 'cat f >> f;', 'cat f f > g; cat g g > f;', 'ssh h ', 'a[;'],
  ...['x=aaa;echo ${x//a/bb};', 'delete from x ', 'x+=$x;', 'f(){ g|g;};', '{ a;};', 'echo ls >> f;sh f;'],
  ...['169.254.', 'alias a=b;', '"${a[@]}" ', 'for i in a b c;do ', 'ls --foo ', 'sed -n "s/a/b/" '],
];

describe('a verdict takes bounded work', () => {
  it.each(UNITS)('%j repeated stays below the bound', (unit) => {
    const command = unit.repeat(Math.floor(MAX_COMMAND_CHARS / unit.length));
    expect(workFor(command)).toBeLessThan(WORK_BOUND);
  });

  // Each of these held the server for seconds.
  const stalls: [string, (n: number) => string][] = [
    ['a file appended to itself', (n) => `${'cat f >> f;'.repeat(n)} sh f`],
    ['files that double', (n) => `echo aaa > f; ${'cat f f > g; cat g g > f;'.repeat(n)} sh f`],
    ['replacements in a value', (n) => `x=${'a'.repeat(n)}; ${'echo ${x//a/bb};'.repeat(n)}`],
    ['SQL that repeats itself', (n) => `psql -c "${'delete from x '.repeat(n)}"`],
    ['hosts behind hosts', (n) => `${'ssh h '.repeat(n)} ls`],
    ['here-documents that never end', (n) => `cat ${'<<E '.repeat(n)}\n${'x\n'.repeat(n)}`],
    [
      'functions that call each other',
      (n) => Array.from({ length: n }, (_, i) => `f${i}(){ f${i + 1}|f${(i * 7) % n}; };`).join(''),
    ],
    [
      'functions that call twice',
      (n) => `${Array.from({ length: n }, (_, i) => `f${i}(){ f${i + 1}; f${i + 1}; };`).join('')}f0`,
    ],
    [
      'values that double',
      (n) => `a0=xxxxxxxx;${Array.from({ length: n }, (_, i) => `a${i + 1}=$a${i}$a${i};`).join('')}`,
    ],
    [
      'nested loops',
      (n) => `${Array.from({ length: n }, (_, i) => `for v${i} in a b c; do x${i}=$v${i}; `).join('')}ls`,
    ],
  ];
  it.each(stalls)('%s: at any size', (_, make) => {
    for (const n of [10, 100, 1_000]) {
      const command = make(n).slice(0, MAX_COMMAND_CHARS);
      expect(workFor(command)).toBeLessThan(WORK_BOUND);
    }
  });

  // Patterns that go back cost time and no counted work. These took seconds; a linear reading takes milliseconds of
  // this thread's own processor time, whatever else the machine does.
  const WILDCARDS = { allow: [], ask: [], deny: [parseRule('ls *a*a*a*b **')] };
  it.each([
    ['a statement that begins again and again', `psql -c "${'copy '.repeat(9_000)}"`],
    ['braces that never close', `parallel '${'{a,'.repeat(16_000)}'`],
    ['an argument against wildcards of the operator', `ls ${'a'.repeat(49_000)}`],
  ])('%s: no pattern goes back', (_, command) => {
    const before = process.threadCpuUsage();
    classifyCommand(command, { rules: WILDCARDS });
    const { user, system } = process.threadCpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(150);
  });

  it('including the comparison with the rules of the operator', () => {
    const rule = parseRule('ls x*y **');
    const budget = new Budget();
    classifyCommand(`ls ${'a'.repeat(100)}`, { budget, rules: { allow: [], ask: [], deny: [rule] } });
    const more = new Budget();
    const deny = Array.from({ length: 10 }, () => rule);
    classifyCommand(`ls ${'a'.repeat(100)}`, { budget: more, rules: { allow: [], ask: [], deny } });
    expect(more.work - budget.work).toBeGreaterThan(9 * 100);
  });

  it('in proportion to the length of an ordinary command', () => {
    for (const unit of ['ls -la src; ', 'cat a | grep b | wc -l\n', 'echo "$x" > f; ', 'A=1 npm test && ']) {
      const short = workFor(unit.repeat(10));
      const long = workFor(unit.repeat(40));
      expect(long).toBeGreaterThan(2 * short);
      expect(long).toBeLessThan(6 * short);
    }
  });

  it('also for earlier commands of the same shell', () => {
    const work = (after: string[]) => {
      const budget = new Budget();
      const verdict = classifyCommand('ls', { after, budget });
      expect(budget.work).toBeLessThan(2 * MAX_WORK);
      return verdict;
    };
    const many = (command: string) => Array.from({ length: 5_000 }, () => command);
    expect(work(many('npm test | tail -5'))).toEqual({ kind: 'allow' });
    expect(work(many('cd packages/a && NODE_ENV=test npm test 2>&1 | tail -20'))).toEqual({ kind: 'allow' });
    expect(work([`${'x=1;'.repeat(10_000)}`])).toMatchObject(TOO_COMPLEX);
  });
});

describe('a command that exceeds the limits asks', () => {
  const nested = Array.from({ length: 12 }).reduce<string>((inner) => `sh -c ${JSON.stringify(inner)}`, 'ls');

  it.each([
    ['a long command', `echo ${'x'.repeat(MAX_COMMAND_CHARS)}`],
    ['nested substitutions', `${'$('.repeat(100)}ls${')'.repeat(100)}`],
    ['nested subshells', `${'( '.repeat(100)}ls${' )'.repeat(100)}`],
    ['brace products', `echo ${'{a,b}'.repeat(20)}`],
    ['many commands', 'ls;'.repeat(10_000)],
  ])('%s', (_name, command) => {
    expect(classifyCommand(command)).toMatchObject(TOO_COMPLEX);
  });

  it('and its verdict keeps the findings so far', () => {
    expect(classifyCommand(`rm -rf /; ${'$('.repeat(100)}`)).toMatchObject({ kind: 'never' });
    expect(classifyCommand(`rm -rf x; ${'$('.repeat(100)}`)).toMatchObject({
      keys: expect.arrayContaining(['recursive delete']),
    });
  });

  it('and a deeply quoted command gets a verdict', () => {
    expect(['allow', 'ask']).toContain(classifyCommand(nested.slice(0, MAX_COMMAND_CHARS)).kind);
  });

  it('but a document written to a file is allowed', () => {
    const document = 'it\'s "quoted" $(text) `here`; rm -rf /\n'.repeat(1_000);
    expect(classifyCommand(`cat > notes.md <<'EOF'\n${document}EOF\n`)).toEqual({ kind: 'allow' });
  });
});

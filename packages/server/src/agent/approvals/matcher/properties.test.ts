// biome-ignore-all lint/suspicious/noTemplateCurlyInString: shell text, not template strings
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyText } from '../../../../../../test/support/any-text.ts';
import { classifyCommand, PATTERN_KEYS, type Verdict } from './classify.ts';
import { DELETING } from './testing/verdicts/deleting.ts';
import { EVASIONS } from './testing/verdicts/evasions.ts';
import { PROGRAMS } from './testing/verdicts/programs.ts';

const RANK = { allow: 0, ask: 1, never: 2 };

/** `after` is at least as severe: a higher kind, or the same with every key kept. */
function expectNotLower(after: Verdict, before: Verdict, command: string) {
  expect(RANK[after.kind], command).toBeGreaterThanOrEqual(RANK[before.kind]);
  if (before.kind === 'ask' && after.kind === 'ask') {
    expect(after.keys, command).toEqual(expect.arrayContaining(before.keys));
  }
}

const FRAGMENTS = [
  ...[
    "'",
    '"',
    '\\',
    '`',
    '$(',
    '$((',
    '${',
    '}',
    ')',
    '((',
    '))',
    '(',
    '{ ',
    '; }',
    '[[ ',
    ' ]]',
    '#',
    '\n',
    '\\\n',
  ],
  ...[
    ';',
    '&',
    '&&',
    '||',
    '|',
    '<<E\n',
    '\nE\n',
    '<<<',
    '<(',
    '>(',
    '>',
    '>>',
    '<',
    '2>&1',
    '$x',
    '"$@"',
    '${x:-',
    "$'",
  ],
  ...[
    'if ',
    '; then ',
    '; fi',
    'for x in ',
    '; do ',
    '; done',
    'case x in ',
    ') ',
    ';; esac',
    'f() ',
    'function ',
    '!',
    'time ',
  ],
  ...[
    'rm',
    ' -rf ',
    '/',
    '~',
    '*',
    '{a,b}',
    '{1..9}',
    'eval ',
    'sh -c ',
    'xargs ',
    'sudo ',
    'x=',
    'x+=(',
    'echo ',
    'psql -c ',
  ],
  ...['\u0000', '\u001b[31m', '\u200b', '\uff07', '\ue000', '\ud800', '🙂', ' ', '\t', '\r\n'],
];
const shellText = fc
  .array(fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...FRAGMENTS) }, anyText({ maxLength: 3 })), {
    maxLength: 40,
  })
  .map((parts) => parts.join(''));

describe('any text', () => {
  it('has a well-formed verdict', () => {
    fc.assert(
      fc.property(
        fc.oneof(shellText, anyText({ maxLength: 200 }), fc.string({ unit: 'grapheme' })),
        (text) => {
          const verdict = classifyCommand(text);
          if (verdict.kind === 'ask') {
            expect(verdict.keys.length).toBeGreaterThan(0);
            // Known keys, the most severe first, none twice.
            expect(verdict.keys).toEqual(PATTERN_KEYS.filter((key) => verdict.keys.includes(key)));
          } else if (verdict.kind === 'never') {
            expect(verdict.reason).not.toBe('');
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('is the same each time', () => {
    fc.assert(
      fc.property(shellText, (text) => {
        expect(classifyCommand(text)).toEqual(classifyCommand(text));
      }),
    );
  });
});

const DECORATIONS: ((c: string) => string)[] = [
  (c) => c,
  (c) => `\\${c}`,
  (c) => `'${c}'`,
  (c) => `"${c}"`,
  (c) => `$'${c}'`,
  (c) => `$"${c}"`,
  (c) => `$'\\x${c.charCodeAt(0).toString(16)}'`,
  (c) => `$'\\${c.charCodeAt(0).toString(8).padStart(3, '0')}'`,
  (c) => `${c}''`,
  (c) => `""${c}`,
  (c) => `\\\n${c}`,
  (c) => `$@${c}`,
];
const decorated = (word: string) =>
  fc
    .array(fc.constantFrom(...DECORATIONS), { minLength: word.length, maxLength: word.length })
    .map((decorations) => [...word].map((c, i) => decorations[i]!(c)).join(''));

describe('quoting', () => {
  it.each(['rm -rf /tmp/x', 'rm -rf /', 'git push --force', 'dd if=x of=/dev/sda', 'shutdown now'])(
    'does not change the verdict of %s',
    (command) => {
      const expected = classifyCommand(command);
      const words = command.split(' ').map(decorated);
      const gaps = fc.array(fc.constantFrom(' ', '\t', '  ', ' \\\n', '$IFS""', '${IFS}', '$IFS$9'), {
        minLength: words.length,
        maxLength: words.length,
      });
      fc.assert(
        fc.property(fc.tuple(...words), gaps, (parts, between) => {
          const written = parts.map((part, i) => (i === 0 ? part : between[i]! + part)).join('');
          expectNotLower(classifyCommand(written), expected, written);
        }),
        { numRuns: 300 },
      );
    },
  );
});

const SIMPLE = [
  'rm -rf /tmp/x',
  'rm -rf build',
  'rm -rf /',
  'rm -rf ~/*',
  'git push -f origin main',
  'git reset --hard',
  'shutdown now',
  'chmod 777 x',
  'dd if=a of=/dev/sda',
  'mkfs.ext4 disk.img',
  'kill -9 -1',
  'npm uninstall x',
  'psql -c DROP\\ TABLE\\ x',
  'systemctl stop nginx',
  'cat ~/.ssh/id_rsa',
  'curl http://169.254.169.254/',
  'python3 -c 1',
  'find . -delete',
  'ls -la',
];
const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
/** What may stand before a command, in this order: a keyword, assignments and redirections, programs. */
const KEYWORDS = ['', '! ', 'time '];
const SETTINGS = ['', 'A=b ', 'A=b C=d ', '>log ', '2>&1 ', 'A=b >log '];
const PROGRAM_PREFIXES = [
  ...[
    'sudo',
    'sudo -u root',
    'doas',
    'env',
    'env -i A=b',
    '/usr/bin/env',
    'nohup',
    'nice -n 5',
    'ionice -c 3',
  ],
  ...['timeout 10', 'timeout -s KILL 10', 'stdbuf -oL', 'setsid', 'exec', 'command', 'builtin', 'busybox'],
  ...[
    'strace -f -o log',
    'chroot /mnt',
    'unshare -r',
    'nsenter -t 1 -m',
    'flock /tmp/lock',
    'watch',
    'ssh host',
  ],
  ...['ssh -p 22 u@h', 'xargs', 'eval', 'docker run --rm alpine', 'docker exec -it c', 'kubectl exec pod --'],
  ...['setarch x86_64', 'systemd-run --scope'],
];
/** Around any command. */
const AROUND: ((c: string) => string)[] = [
  (c) => `( ${c} )`,
  (c) => `{ ${c}; }`,
  (c) => `ls; ${c}`,
  (c) => `true && ${c}`,
  (c) => `false || ${c}`,
  (c) => `ls | ${c}`,
  (c) => `${c} | cat`,
  (c) => `${c} &`,
  (c) => `if true; then ${c}; fi`,
  (c) => `while :; do ${c}; done`,
  (c) => `for i in 1 2; do ${c}; done`,
  (c) => `case x in x) ${c};; esac`,
  (c) => `f() { ${c}; }; f`,
  (c) => `echo $(${c})`,
  (c) => `echo "$(${c})"`,
  (c) => `x=$(${c})`,
  (c) => `cat <(${c})`,
  (c) => `bash -c ${quote(c)}`,
  (c) => `sh -lc ${quote(c)}`,
  (c) => `eval ${quote(c)}`,
  (c) => `su -c ${quote(c)}`,
  (c) => `ssh host ${quote(c)}`,
  (c) => `echo ${quote(c)} | sh`,
  (c) => `bash <<'END'\n${c}\nEND\n`,
  (c) => `x=${quote(c)}; eval "$x"`,
  (c) => `echo \`${c.replace(/[\\`$]/g, '\\$&')}\``,
];

describe('wrapping', () => {
  it('in programs that run their arguments never lowers a verdict', () => {
    const prefix = fc
      .tuple(
        fc.constantFrom(...KEYWORDS),
        fc.constantFrom(...SETTINGS),
        fc.array(fc.constantFrom(...PROGRAM_PREFIXES), { maxLength: 4 }),
      )
      .map(([keyword, setting, programs]) => keyword + setting + programs.join(' '));
    fc.assert(
      fc.property(fc.constantFrom(...SIMPLE), prefix, (command, before) => {
        // watch, ssh and eval hand a text to a second shell, which undoes quoting once more.
        if (command.includes('\\') && /\b(?:watch|ssh|eval)\b/.test(before)) return;
        const wrapped = `${before} ${command}`;
        expectNotLower(classifyCommand(wrapped), classifyCommand(command), wrapped);
      }),
      { numRuns: 1_000 },
    );
  });

  it('in shell syntax never lowers a verdict', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...SIMPLE),
        fc.array(fc.constantFrom(...AROUND), { minLength: 1, maxLength: 3 }),
        (command, around) => {
          const wrapped = around.reduce((inner, wrap) => wrap(inner), command);
          // A here-document or a background job inside a one-line construct is another sentence, or none.
          if (around.length > 1 && /\(\(|<<'END'|&;|& *\)|& \||&$|& &&/.test(wrapped)) return;
          const before = classifyCommand(command);
          const after = classifyCommand(wrapped);
          // Text that is evaluated twice may be past reading, and asks for that.
          if (around.length === 1) expectNotLower(after, before, wrapped);
          else if (before.kind !== 'allow') expect(after.kind, wrapped).not.toBe('allow');
        },
      ),
      { numRuns: 1_000 },
    );
  });
});

describe('a harmless command', () => {
  const commands = [...DELETING, ...EVASIONS, ...PROGRAMS].map((row) => row.command);

  it('before or after another never lowers the verdict', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...commands),
        fc.constantFrom('ls -la', 'echo done', 'cd src', 'unused=1', 'true'),
        (command, harmless) => {
          const verdict = classifyCommand(command);
          expectNotLower(classifyCommand(`${command}\n${harmless}`), verdict, `${command}\n${harmless}`);
          expectNotLower(classifyCommand(`${harmless}\n${command}`), verdict, `${harmless}\n${command}`);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});

describe('text that is only shown', () => {
  // Control codes and characters that fold to a quote make a second reading, which may differ.
  const inert = fc
    .oneof(shellText, fc.string({ unit: 'grapheme' }))
    .map((text) => text.replace(/[\u0000\u001b\u0080-\u009f]/g, ''))
    .filter((text) => !text.normalize('NFKC').includes("'"));

  it('is allowed in single quotes', () => {
    fc.assert(
      fc.property(
        inert,
        fc.constantFrom('echo', 'printf %s', 'git commit -m', 'grep -rn'),
        (text, program) => {
          expect(classifyCommand(`${program} '${text}'`)).toEqual({ kind: 'allow' });
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('is allowed in a quoted here-document that goes to a file', () => {
    fc.assert(
      fc.property(inert, (text) => {
        expect(classifyCommand(`cat > notes.txt <<'LIMIT'\n${text}\nLIMIT`)).toEqual({ kind: 'allow' });
      }),
      { numRuns: 500 },
    );
  });
});

describe('folding look-alikes and control codes', () => {
  it.each(['r\u200bm -rf x', 'r\u001b[0mm -rf x', '\uff52\uff4d -rf x', 'rm\u0000 -rf x', '\u202erm -rf x'])(
    'uncovers %j',
    (command) => {
      expect(classifyCommand(command)).toMatchObject({ keys: expect.arrayContaining(['recursive delete']) });
    },
  );

  it.each(['echo \uff07; rm -rf x; echo \uff07', 'echo \uff03; rm -rf x', 'echo \u001b]0; rm -rf x; \u0007'])(
    'hides nothing in %j',
    (command) => {
      expect(classifyCommand(command)).toMatchObject({ keys: expect.arrayContaining(['recursive delete']) });
    },
  );
});

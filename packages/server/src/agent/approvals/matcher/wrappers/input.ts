/**
 * Programs that build commands from their standard input.
 */
import type { Call, RuleTable } from '../host.ts';
import { hasCommandOutput, OPAQUE, taintOf } from '../marks.ts';
import { readOptions } from '../options.ts';
import { asCode, innerArgv } from './inner.ts';

export const INPUT_RULES: RuleTable = { xargs, gxargs: xargs, parallel };

const XARGS = {
  short: 'IEdLnPsaJR',
  long: ['replace', 'delimiter', 'max-lines', 'max-args', 'max-procs', 'arg-file'],
  stopAtOperand: true,
};

/** The words that standard input adds are known when the line itself prints them. */
function xargs({ args, host, input }: Call): void {
  const { scope } = host;
  const options = readOptions(args, XARGS);
  const command = options.operands.length > 0 ? options.operands : ['echo'];
  const text = options.values.has('a') || options.values.has('arg-file') ? OPAQUE : (input?.text ?? OPAQUE);
  const placeholder =
    options.values.get('I')?.[0] ??
    options.values.get('replace')?.[0] ??
    (options.flags.has('i') ? '{}' : undefined);
  const before = scope.bulkDelete;
  scope.bulkDelete = 'xargs with rm';
  if (placeholder) {
    const lines = hasCommandOutput(text)
      ? [taintOf(text)]
      : text.split('\n').filter((line) => line.trim() !== '');
    for (const line of lines.slice(0, 100)) {
      host.run(
        command.map((word) =>
          word.includes(placeholder) ? word.split(placeholder).join(line.trim()) : word,
        ),
      );
    }
  } else {
    // With -0 or -d blanks do not separate; both readings are walked.
    if (options.flags.has('0') || options.flags.has('null') || options.flags.has('d')) {
      host.run([...command, text.trim()]);
    }
    host.run([
      ...command,
      ...text
        .split(/[\s\0]+/)
        .filter((word) => word !== '')
        .map((word) => word.replace(/['"\\]/g, '')),
    ]);
  }
  scope.bulkDelete = before;
}

/** GNU parallel: a command text before `:::`, its arguments after it or on standard input. */
function parallel({ args, host, input }: Call): void {
  const { scope } = host;
  const at = args.findIndex((arg) => /^:::[:+]*$/.test(arg));
  const head = innerArgv(
    at < 0 ? args : args.slice(0, at),
    { flags: 'kquvmX0', values: 'jIaSNnLPd', long: ['jobs', 'colsep'] },
    false,
  ).argv;
  const items = at < 0 ? (input?.text ?? OPAQUE).split('\n').filter(Boolean) : args.slice(at + 1);
  const before = scope.bulkDelete;
  scope.bulkDelete = 'xargs with rm';
  for (const item of items.slice(0, 100)) {
    const text = asCode(head);
    host.code(text.includes('{}') ? text.split('{}').join(item) : `${text} ${item}`, 'argument');
  }
  scope.bulkDelete = before;
}

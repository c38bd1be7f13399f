/**
 * The readings of a command line that are classified; the verdict is the most severe of them.
 * Stripping terminal codes and folding look-alike letters uncovers commands that a person would see as
 * `rm`, but it can also create quotes and comment signs that the shell does not see (U+FF07 folds to an
 * apostrophe). Therefore the folded text is a second reading beside the plain one, never its substitute.
 * Line continuations, quotes and `$IFS` are undone later by the lexer and the expander, which know
 * where the shell itself would undo them.
 */
const NUL = /\0/g;
const PRIVATE = /[\uE000-\uE01F]/g;
const LONE_SURROGATE = /[\uD800-\uDFFF]/;
// CSI (`ESC [ … letter`), OSC (`ESC ] … BEL`), and two-character escapes; each class excludes its end,
// so a match never backtracks.
const ANSI =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-Z\\^-~]/g;
// Characters that are invisible on a screen: soft hyphen, zero-width marks, direction overrides, BOM.
const INVISIBLE = /[\u00AD\u200B-\u200F\u202A-\u202E\u2060-\u2064\u2066-\u2069\uFEFF]/g;

export function readings(command: string): string[] {
  const wellFormed = LONE_SURROGATE.test(command) ? command.toWellFormed() : command;
  const plain = wellFormed.replace(NUL, '').replace(PRIVATE, '\uFFFD').replaceAll('\r\n', '\n');
  const folded = plain.replace(ANSI, '').replace(INVISIBLE, '').normalize('NFKC').replace(PRIVATE, '\uFFFD');
  return folded === plain ? [plain] : [plain, folded];
}

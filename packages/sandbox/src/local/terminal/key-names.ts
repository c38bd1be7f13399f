/** What a terminal gets for the name of a key, by the names of tmux; any other word is text. */

const ESCAPE = '\x1b';
const KEYS = new Map(
  Object.entries({
    ...{
      Enter: '\r',
      KPEnter: '\r',
      Escape: ESCAPE,
      Tab: '\t',
      Space: ' ',
      BSpace: '\x7f',
      BTab: `${ESCAPE}[Z`,
    },
    ...{ Up: `${ESCAPE}[A`, Down: `${ESCAPE}[B`, Right: `${ESCAPE}[C`, Left: `${ESCAPE}[D` },
    ...{ Home: `${ESCAPE}[1~`, IC: `${ESCAPE}[2~`, DC: `${ESCAPE}[3~`, End: `${ESCAPE}[4~` },
    ...{ PPage: `${ESCAPE}[5~`, NPage: `${ESCAPE}[6~` },
    ...{ F1: `${ESCAPE}OP`, F2: `${ESCAPE}OQ`, F3: `${ESCAPE}OR`, F4: `${ESCAPE}OS` },
    ...{ F5: `${ESCAPE}[15~`, F6: `${ESCAPE}[17~`, F7: `${ESCAPE}[18~`, F8: `${ESCAPE}[19~` },
    ...{ F9: `${ESCAPE}[20~`, F10: `${ESCAPE}[21~`, F11: `${ESCAPE}[23~`, F12: `${ESCAPE}[24~` },
  }).map(([name, bytes]) => [name.toLowerCase(), bytes]),
);
for (const [other, name] of [
  ...[
    ['insert', 'ic'],
    ['delete', 'dc'],
    ['pageup', 'ppage'],
    ['pgup', 'ppage'],
  ],
  ...[
    ['pagedown', 'npage'],
    ['pgdn', 'npage'],
  ],
] as [string, string][]) {
  KEYS.set(other, KEYS.get(name) as string);
}

/** `C-x` or `^x`, `M-x`, and both. */
const MODIFIED = /^((?:C-|M-|\^)+)(.+)$/i;

export function bytesOf(keys: string | readonly string[]): string {
  return (typeof keys === 'string' ? [keys] : keys).map(keyOf).join('');
}

/** Whether a line end is the last of it. */
export function endsLine(keys: string): boolean {
  return /[\r\n]$/.test(keys);
}

function keyOf(word: string): string {
  return KEYS.get(word.toLowerCase()) ?? modified(word) ?? word;
}

function modified(word: string): string | undefined {
  const [, modifiers = '', name = ''] = MODIFIED.exec(word) ?? [];
  const key = KEYS.get(name.toLowerCase()) ?? name;
  if (modifiers === '' || (key === name && [...key].length !== 1)) return undefined;
  const withControl = /C-|\^/i.test(modifiers) ? control(key) : key;
  return withControl === undefined ? undefined : `${/M-/i.test(modifiers) ? ESCAPE : ''}${withControl}`;
}

function control(key: string): string | undefined {
  if (key === ' ') return '\0';
  if (key === '?') return '\x7f';
  const code = key.toUpperCase().charCodeAt(0);
  return key.length === 1 && code >= 0x40 && code < 0x60 ? String.fromCharCode(code - 0x40) : undefined;
}

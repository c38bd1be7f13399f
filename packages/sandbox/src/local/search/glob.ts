/**
 * A glob as a POSIX extended regular expression for find(1), over paths that start with `./`.
 *
 * `*` and `?` stop at a slash, `**` does not, `[…]` and `{a,b}` choose, a backslash makes the next character literal. A
 * glob without a slash matches the name alone, in any directory. A character that cannot be read as special is literal,
 * so every text is a glob.
 */
export function globToRegex(glob: string): string {
  const path = glob.replace(/^(?:\.?\/)+/, '');
  const anywhere = path.includes('/') || glob.startsWith('/') ? '' : '(.*/)?';
  return `\\./${anywhere}${translate(path)}`;
}

function translate(glob: string): string {
  let regex = '';
  let depth = 0;
  const grouped = bracesBalance(glob);
  for (let at = 0; at < glob.length; at++) {
    const character = glob[at] as string;
    if (glob.startsWith('**/', at)) {
      regex += '(.*/)?';
      at += 2;
    } else if (glob.startsWith('**', at)) {
      regex += '.*';
      at += 1;
    } else if (character === '*') regex += '[^/]*';
    else if (character === '?') regex += '[^/]';
    else if (character === '\\' && at + 1 < glob.length) regex += plain(glob[++at] as string);
    else if (character === '{' && grouped) {
      regex += '(';
      depth++;
    } else if (character === ',' && depth > 0) regex += '|';
    else if (character === '}' && depth > 0) {
      regex += ')';
      depth--;
    } else if (character === '[') {
      const end = glob.indexOf(']', at + (/^\[[!^]?\]/.exec(glob.slice(at, at + 3))?.[0].length ?? 1));
      if (end === -1) regex += plain(character);
      else {
        regex += `[${glob.slice(at + 1, end).replace(/^!/, '^')}]`;
        at = end;
      }
    } else regex += plain(character);
  }
  return regex;
}

/** Whether braces can be groups: every one has its partner. */
function bracesBalance(glob: string): boolean {
  let depth = 0;
  for (const sign of glob.replaceAll(/\\.|\[[!^]?\]?[^\]]*\]/gs, '')) {
    if (sign === '{') depth++;
    if (sign === '}' && --depth < 0) return false;
  }
  return depth === 0;
}

function plain(character: string): string {
  return /[.^$*+?()|{}[\]\\]/.test(character) ? `\\${character}` : character;
}

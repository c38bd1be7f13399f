/**
 * Patterns for what is left out of captures, in the manner of .gitignore: without a slash in the middle a pattern matches
 * the name at any depth, with one it begins at the workspace. A slash at the end restricts it to directories. `*` and `?`
 * stay within a name, `**` does not. Negation is not supported: `!` is a character like any other.
 */
export type IsIgnored = (path: string, isDirectory: boolean) => boolean;

interface Rule {
  expression: RegExp;
  onlyDirectories: boolean;
}

/** The rules take paths in the form of captured-path.ts. */
export function ignoreRules(patterns: readonly string[]): IsIgnored | undefined {
  const rules = patterns.flatMap(toRule);
  if (rules.length === 0) return undefined;
  return (path, isDirectory) =>
    rules.some(
      ({ expression, onlyDirectories }) => (isDirectory || !onlyDirectories) && expression.test(path),
    );
}

function toRule(pattern: string): Rule[] {
  const onlyDirectories = pattern.endsWith('/');
  const path = pattern.replace(/\/+$/, '');
  if (path === '') return [];
  const anchored = path.includes('/');
  const bytes = Buffer.from(path.replace(/^\//, '')).toString('latin1');
  const body = bytes.replace(
    /\*\*\/|\/\*\*$|\*|\?|[\\^$.|+()[\]{}]/g,
    (found) => MEANING[found] ?? `\\${found}`,
  );
  return [{ expression: new RegExp(`${anchored ? '^' : '(?:^|/)'}${body}$`, 's'), onlyDirectories }];
}

const MEANING: Record<string, string> = {
  '**/': '(?:.*/)?',
  '/**': '/.*',
  '*': '[^/]*',
  '?': '[^/]',
};

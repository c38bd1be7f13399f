import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = dirname(import.meta.dirname);

/** The folders that import each other in this checkout; throws if files or parts do. */
function mutualImports(checkout: string): string[] {
  const printed = execFileSync(process.execPath, [join(ROOT, 'scripts/house.ts')], {
    cwd: checkout,
    encoding: 'utf8',
  });
  return [...printed.matchAll(/^Folders that import each other: (.*)$/gm)].map(([, folders]) => folders!);
}

test('a line names each group of folders that import each other', () => {
  const checkout = mkdtempSync(join(tmpdir(), 'talaria-house-'));
  const files = {
    'part/part.ts': "import './under/one.ts';",
    'part/under/one.ts': "import './deeper/two.ts';",
    'part/under/deeper/two.ts': "import '../three.ts';",
    'part/under/three.ts': '',
    'other/four.ts': "import '../part/part.ts';",
  };
  try {
    for (const [name, text] of Object.entries(files)) {
      const path = join(checkout, 'packages/a/src', name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
    expect(mutualImports(checkout)).toEqual(['a/part/under, a/part/under/deeper']);
  } finally {
    rmSync(checkout, { recursive: true });
  }
});

test('the folders of http import each other nowhere', () => {
  expect(mutualImports(ROOT).filter((folders) => folders.includes('server/http'))).toEqual([]);
});

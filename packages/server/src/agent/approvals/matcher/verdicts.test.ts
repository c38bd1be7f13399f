import { describe, expect, it } from 'vitest';
import { classifyCommand, PATTERN_KEYS } from './classify.ts';
import { FAMILIES } from './families.ts';
import { CLOSED_WORLD } from './testing/verdicts/closed-world.ts';
import { DELETING } from './testing/verdicts/deleting.ts';
import { DISKS_DATA_SYSTEM } from './testing/verdicts/disks-data-system.ts';
import { EVASIONS } from './testing/verdicts/evasions.ts';
import { EVASIONS_WRAPPERS_REMOTE } from './testing/verdicts/evasions-wrappers-remote.ts';
import { FRESH } from './testing/verdicts/fresh.ts';
import { HARMLESS } from './testing/verdicts/harmless.ts';
import { PROGRAMS } from './testing/verdicts/programs.ts';
import type { Row } from './testing/verdicts/table.ts';

const TABLES: Record<string, Row[]> = {
  deleting: DELETING,
  'disks, data and system': DISKS_DATA_SYSTEM,
  programs: PROGRAMS,
  evasions: EVASIONS,
  'evasions through wrappers and downloads': EVASIONS_WRAPPERS_REMOTE,
  harmless: HARMLESS,
  fresh: FRESH,
  'a closed world': CLOSED_WORLD,
};

function shown(row: Row) {
  if (row.expected === 'allow') return { kind: 'allow' };
  if ('never' in row.expected) return { kind: 'never', reason: row.expected.never };
  return { kind: 'ask', keys: row.expected.ask };
}

for (const [name, rows] of Object.entries(TABLES)) {
  describe(`verdicts: ${name}`, () => {
    it.each(rows)('$command', (row) => {
      expect(classifyCommand(row.command)).toEqual(shown(row));
    });
  });
}

describe('the table of families', () => {
  it('is what callers see, without duplicates', () => {
    expect(PATTERN_KEYS).toEqual([...new Set(FAMILIES)]);
  });

  it('has a command for every family', () => {
    const asked = new Set(
      Object.values(TABLES)
        .flat()
        .flatMap(({ expected }) => (typeof expected === 'object' && 'ask' in expected ? expected.ask : [])),
    );
    // Only hostile sizes reach the limits; limits.test.ts covers that family.
    expect(FAMILIES.filter((family) => !asked.has(family))).toEqual(['command too complex to inspect']);
  });
});

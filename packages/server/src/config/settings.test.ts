import { expect, it } from 'vitest';
import { flagOf, settingList } from './settings.ts';

it('has unique names of each form', () => {
  for (const form of [
    settingList.map(([, s]) => s.env),
    settingList.map(([, s]) => s.key),
    settingList.map(([, s]) => flagOf(s)),
  ]) {
    expect(new Set(form).size).toBe(settingList.length);
  }
});

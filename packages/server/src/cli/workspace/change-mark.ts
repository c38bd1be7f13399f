import type { Role, Style } from '../style.ts';

export type ChangeKind = 'added' | 'modified' | 'deleted';

const MARKS: Record<ChangeKind, { mark: string; role: Role }> = {
  added: { mark: 'A', role: 'good' },
  modified: { mark: 'M', role: 'careful' },
  deleted: { mark: 'D', role: 'bad' },
};

/** One letter, as git has it. A later server may know more kinds. */
export function changeMark(kind: ChangeKind, style: Style): string {
  const { mark, role } = MARKS[kind] ?? { mark: '?', role: 'careful' };
  return style[role](mark);
}

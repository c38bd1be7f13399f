/** Colours by role. Without colours, the text is unchanged. */
import { styleText } from 'node:util';

const ROLES = {
  strong: 'bold',
  faint: 'dim',
  good: 'green',
  bad: 'red',
  careful: 'yellow',
  busy: 'cyan',
} as const;

export type Role = keyof typeof ROLES;
export type Style = Readonly<Record<Role, (text: string) => string>>;

export function createStyle(colours: boolean): Style {
  const paint = (role: Role) => (text: string) =>
    colours && text !== '' ? styleText(ROLES[role], text, { validateStream: false }) : text;
  return Object.fromEntries((Object.keys(ROLES) as Role[]).map((role) => [role, paint(role)])) as Style;
}

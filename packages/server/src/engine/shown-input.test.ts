import { expect, it } from 'vitest';
import { shownInput } from './shown-input.ts';

const asIs = (text: string) => text;

it('a prompt is shown up to 500 characters', () => {
  expect(shownInput('Hello', asIs)).toBe('Hello');
  expect(shownInput('x'.repeat(600), asIs)).toBe('x'.repeat(500));
});

it('a secret at the cut is masked, not cut', () => {
  const secret = 'sk-0123456789';
  const prompt = `${'x'.repeat(495)}${secret}`;
  const shown = shownInput(prompt, (text) => text.replaceAll(secret, '***'));
  expect(shown).toBe(`${'x'.repeat(495)}***`);
});

it('the text of all parts is shown, and the kind of the others', () => {
  const prompt = [
    { type: 'text' as const, text: 'What is this?' },
    { type: 'image' as const, url: 'https://example.com/a.png' },
  ];
  expect(shownInput(prompt as Parameters<typeof shownInput>[0], asIs)).toBe('What is this? [image]');
});

it('a surrogate pair at the cut never leaves text that cannot be encoded', () => {
  expect(shownInput(`${'x'.repeat(499)}😀`, asIs)).toBe(`${'x'.repeat(499)}\ufffd`);
});

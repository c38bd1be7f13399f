/** Which dialog is open above the page, at most one: buttons, the palette and the keyboard open them. */
import { signal } from '@preact/signals';

export type Overlay = 'new run' | 'settings' | 'help' | 'palette';

export const overlay = signal<Overlay | undefined>(undefined);

export function show(which: Overlay): void {
  overlay.value = which;
}

export function hide(): void {
  overlay.value = undefined;
}

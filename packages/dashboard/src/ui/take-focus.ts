/**
 * As the `ref` of a field: it takes the focus when it appears. A function that is made anew by each render would take it
 * with each render, also from another field in which somebody writes.
 */
export function takeFocus(field: HTMLElement | null): void {
  field?.focus();
}

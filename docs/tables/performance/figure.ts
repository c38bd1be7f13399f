/** Three digits are as many as a busy machine can repeat. */
export function figure(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en', { maximumSignificantDigits: 3 });
}

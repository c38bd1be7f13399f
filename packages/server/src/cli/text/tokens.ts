import type { Usage } from '@talaria/client';

/** `1,234 in, 56 out`; undefined if nobody counted. */
export function tokens(usage: Partial<Usage> | undefined): string | undefined {
  if (usage?.input_tokens === undefined || usage.output_tokens === undefined) return undefined;
  return `${grouped(usage.input_tokens)} in, ${grouped(usage.output_tokens)} out`;
}

function grouped(number: number): string {
  return number.toLocaleString('en');
}

/** Creates pipes with these names in the exchange directory, which every user may open. */
import type { Step } from '../isolation/entry/call-table.ts';
import { EXCHANGE, REFUSAL, REPORT_BYTES, REPORTS } from './layout.ts';

const FIFO_FOR_ALL = 0o010666;

export function pipeSteps(names: readonly string[]): Step[] {
  return [
    ['umask', [0]],
    ...names.map((name): Step => ['mknodat', [EXCHANGE, name, FIFO_FOR_ALL]]),
    ['exit_group', [0]],
    ['write', [REPORTS, REFUSAL, REPORT_BYTES], { label: 'refused', ifNegative: 'end' }],
    ['exit_group', [1], { label: 'end' }],
  ];
}

/** The parts of docs/performance.md that come from measurements. */
import { type Machine, printMachine } from '../../../bench/machine.ts';
import { PEERS } from '../../../bench/peers/peers.ts';
import { replaceMarkedPart } from '../marked-part.ts';
import { growthPlot } from './growth-plot.ts';
import { growthTable } from './growth-table.ts';
import { aheadList, allFigures, durabilityTable, peerTable } from './peer-tables.ts';
import { readGrowth, readPeers } from './results.ts';

/** By path in the repository. */
export function performancePictures(): Record<string, () => string> {
  return Object.fromEntries(
    Object.entries(readGrowth()).map(([name, growth]) => [
      `docs/performance/${name}.svg`,
      () => growthPlot(growth),
    ]),
  );
}

export function performancePage(present: string): string {
  const peers = readPeers();
  const growth = readGrowth();
  const figures = allFigures(peers);
  const machines = [...Object.values(peers.measured), ...Object.values(growth)].map(({ machine }) => machine);
  const parts: Record<string, string> = {
    machine: machineList(machines),
    peers: peerTable(figures),
    ahead: aheadList(figures),
    durability: durabilityTable(PEERS, peers),
    ...Object.fromEntries(Object.entries(growth).map(([name, each]) => [name, growthTable(each)])),
  };
  return Object.entries(parts).reduce(
    (page, [name, content]) => replaceMarkedPart(page, name, content),
    present,
  );
}

/** One line per kind of machine; the load differs from piece to piece. */
function machineList(machines: readonly Machine[]): string {
  const kinds = Map.groupBy(machines, (machine) => printMachine({ ...machine, load: 0 }).split(';')[0]!);
  return [...kinds]
    .map(([kind, alike]) => {
      const loads = alike.map(({ load }) => load);
      return `- ${kind}; load before the pieces ${Math.min(...loads)} to ${Math.max(...loads)}\n`;
    })
    .join('');
}

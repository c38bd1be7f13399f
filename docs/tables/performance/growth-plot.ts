/**
 * A question about growth as a picture: sizes to the right, milliseconds upwards, both by powers of ten. A straight line
 * is a power of the size; the dashed ones have the slope of linear growth. Readable on light and dark pages.
 */
import type { Growth } from './results.ts';

const [WIDTH, HEIGHT] = [760, 400];
const AREA = { left: 70, right: 490, top: 20, bottom: 350 };
const LABEL_X = AREA.right + 14;
const LABEL_HEIGHT = 17;
/** Told apart also by those who confuse red and green. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#b8860b', '#56b4e9', '#8a63d2'];
/** With a ground of its own: a page may be dark although its reader's system is not. */
const STYLE = `.ground { fill: #fff }
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.grid { stroke: #8c959f; stroke-opacity: .3 }
.linear { stroke: #8c959f; stroke-dasharray: 3 5 }
.line { fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) { .ground { fill: #0d1117 } text { fill: #e6edf3 } }`;

interface Scale {
  from: number;
  to: number;
  /** The place in the picture of a value. */
  at(value: number): number;
}

export function growthPlot({ of, points }: Growth): string {
  const measured = points.filter(({ skipped }) => skipped === undefined);
  const sizes = measured.map(({ size }) => size);
  const figures = measured.flatMap(({ ms }) => Object.values(ms));
  const x = scale(sizes, AREA.left, AREA.right);
  const y = scale(figures, AREA.bottom, AREA.top);
  const acts = Object.keys(measured[0]?.ms ?? {});
  const lines = acts.map((act, i) => ({
    act,
    colour: COLOURS[i % COLOURS.length]!,
    places: measured.map(({ size, ms }) => [x.at(size), y.at(ms[act]!)] as const),
  }));
  const labels = spread(lines.map(({ places }) => places.at(-1)![1]));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img">`,
    `<title>Milliseconds by ${of}</title>`,
    `<style>${STYLE}</style>`,
    `<rect class="ground" width="${WIDTH}" height="${HEIGHT}" rx="6"/>`,
    ...decades(x).map((value) => gridX(x.at(value), value.toLocaleString('en'))),
    ...decades(y).map((value) => gridY(y.at(value), duration(value))),
    ...linearLines(x, y),
    `<text x="${(AREA.left + AREA.right) / 2}" y="${AREA.bottom + 40}" text-anchor="middle">${of}</text>`,
    ...lines.flatMap(({ act, colour, places }, i) => drawLine(act, colour, places, labels[i]!)),
    '</svg>\n',
  ].join('\n');
}

/** Whole powers of ten around all values. */
function scale(values: readonly number[], start: number, end: number): Scale {
  const from = Math.floor(Math.log10(Math.min(...values)));
  const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(...values))));
  const at = (value: number) => round(start + ((Math.log10(value) - from) / (to - from)) * (end - start));
  return { from, to, at };
}

function decades({ from, to }: Scale): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => 10 ** (from + i));
}

function gridX(x: number, label: string): string {
  return `<line class="grid" x1="${x}" y1="${AREA.top}" x2="${x}" y2="${AREA.bottom}"/><text x="${x}" y="${AREA.bottom + 18}" text-anchor="middle">${label}</text>`;
}

function gridY(y: number, label: string): string {
  return `<line class="grid" x1="${AREA.left}" y1="${y}" x2="${AREA.right}" y2="${y}"/><text x="${AREA.left - 8}" y="${y + 4}" text-anchor="end">${label}</text>`;
}

/** One through the lower left corner of each decade of the left side, as far as it stays in the picture. */
function linearLines(x: Scale, y: Scale): string[] {
  return decades(y)
    .slice(0, -1)
    .map((first) => {
      const decadesLong = Math.min(x.to - x.from, y.to - Math.log10(first));
      const [x2, y2] = [x.at(10 ** (x.from + decadesLong)), y.at(first * 10 ** decadesLong)];
      return `<line class="linear" x1="${AREA.left}" y1="${y.at(first)}" x2="${x2}" y2="${y2}"/>`;
    });
}

function drawLine(
  act: string,
  colour: string,
  places: readonly (readonly [number, number])[],
  labelY: number,
): string[] {
  const [endX, endY] = places.at(-1)!;
  return [
    `<polyline class="line" stroke="${colour}" points="${places.map((place) => place.join(',')).join(' ')}"/>`,
    ...places.map(([cx, cy]) => `<circle cx="${cx}" cy="${cy}" r="3" fill="${colour}"/>`),
    `<line stroke="${colour}" stroke-opacity=".6" x1="${endX}" y1="${endY}" x2="${LABEL_X - 3}" y2="${labelY}"/>`,
    `<text x="${LABEL_X}" y="${round(labelY + 4)}">${act}</text>`,
  ];
}

/** The places of labels beside the ends of their lines, moved apart where they would cover each other. */
function spread(ends: readonly number[]): number[] {
  const placed = ends.map((wanted, index) => ({ index, y: wanted })).toSorted((a, b) => a.y - b.y);
  for (const [i, label] of placed.entries()) {
    const above = placed[i - 1];
    if (above !== undefined) label.y = Math.max(label.y, above.y + LABEL_HEIGHT);
  }
  // From below, so that none is pushed out of the picture.
  for (let i = placed.length - 1; i >= 0; i--) {
    const bound = placed[i + 1] === undefined ? AREA.bottom : placed[i + 1]!.y - LABEL_HEIGHT;
    placed[i]!.y = Math.min(placed[i]!.y, bound);
  }
  return placed.toSorted((a, b) => a.index - b.index).map(({ y }) => round(y));
}

function duration(ms: number): string {
  return ms >= 1_000 ? `${ms / 1_000} s` : `${ms} ms`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

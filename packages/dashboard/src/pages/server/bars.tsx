/** Bars, one per day, with a list of the same numbers for those who cannot see them. */
interface BarsProps {
  title: string;
  /** What all of them add up to. */
  total: string;
  bars: readonly { name: string; day: string; value: number; label: string }[];
}

const WIDTH = 40;
const GAP = 6;
const HEIGHT = 100;

export function Bars({ title, total, bars }: BarsProps) {
  const most = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE);
  return (
    <figure class="bars">
      <figcaption>
        <span>{title}</span> <strong>{total}</strong>
      </figcaption>
      <svg viewBox={`0 0 ${bars.length * WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {bars.map(({ name, value, label }, index) => {
          const height = (value / most) * HEIGHT;
          return (
            <g key={name}>
              <title>{`${name}: ${label}`}</title>
              <rect x={index * WIDTH + GAP} y={HEIGHT - height} width={WIDTH - 2 * GAP} height={height} />
            </g>
          );
        })}
      </svg>
      <p class="days muted" aria-hidden="true">
        {bars.map(({ name, day }) => (
          <span key={name}>{day}</span>
        ))}
      </p>
      <details>
        <summary>As numbers</summary>
        <ul>
          {bars.map(({ name, label }) => (
            <li key={name}>
              {name}: {label}
            </li>
          ))}
        </ul>
      </details>
    </figure>
  );
}

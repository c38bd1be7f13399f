/** Bars, one per day, with a table of the same numbers for those who cannot see them. */
interface BarsProps {
  title: string;
  bars: readonly { name: string; value: number; label: string }[];
}

const WIDTH = 40;
const HEIGHT = 100;

export function Bars({ title, bars }: BarsProps) {
  const most = Math.max(...bars.map(({ value }) => value), 1);
  return (
    <figure class="bars">
      <figcaption>
        {title}{' '}
        <span class="muted">at most {bars.find(({ value }) => value === most)?.label ?? 'none'} a day</span>
      </figcaption>
      <svg viewBox={`0 0 ${bars.length * WIDTH} ${HEIGHT + 1}`} preserveAspectRatio="none" aria-hidden="true">
        {bars.map(({ name, value, label }, index) => {
          const height = (value / most) * HEIGHT;
          return (
            <rect key={name} x={index * WIDTH + 4} y={HEIGHT - height} width={WIDTH - 8} height={height + 1}>
              <title>{`${name}: ${label}`}</title>
            </rect>
          );
        })}
      </svg>
      <p class="ends muted" aria-hidden="true">
        <span>{bars[0]?.name}</span>
        <span>{bars.at(-1)?.name}</span>
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

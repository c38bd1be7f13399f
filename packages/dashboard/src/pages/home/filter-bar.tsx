/** The filters above the table. They live in the address, so each change is a new address. */
import { useEffect, useRef } from 'preact/hooks';
import { changeQuery } from '../../navigation/router.ts';
import { type Filters, SINCE, STATUSES } from './filters.ts';

/** After the last key: one search, not one per letter. */
const TYPED_MS = 250;

export function FilterBar({ filters, agents }: { filters: Filters; agents: readonly string[] }) {
  const typed = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(typed.current), []);
  const search = (q: string) => {
    clearTimeout(typed.current);
    typed.current = setTimeout(() => changeQuery({ q }), TYPED_MS);
  };
  return (
    <search class="filters">
      <Select name="status" label="State" value={filters.status} options={Object.keys(STATUSES)} />
      {agents.length > 0 && <Select name="agent" label="Agent" value={filters.agent} options={agents} />}
      <Select
        name="since"
        label="Since"
        value={filters.since}
        options={Object.keys(SINCE)}
        nameOf={(key) => SINCE[key]?.[0] ?? key}
      />
      <Chosen name="session" value={filters.session} />
      <Chosen name="job" value={filters.job} />
      <input
        type="search"
        aria-label="Search in prompts and answers"
        placeholder="Search…  /"
        data-search
        defaultValue={filters.q ?? ''}
        onInput={(event) => search(event.currentTarget.value.trim())}
      />
    </search>
  );
}

interface SelectProps {
  name: string;
  label: string;
  value: string | undefined;
  options: readonly string[];
  nameOf?: (option: string) => string;
}

function Select({ name, label, value, options, nameOf = (option) => option }: SelectProps) {
  return (
    <label class="select">
      <span class="visually-hidden">{label}</span>
      <select value={value ?? ''} onChange={(event) => changeQuery({ [name]: event.currentTarget.value })}>
        <option value="">{label}: all</option>
        {options.map((option) => (
          <option key={option} value={option}>
            {nameOf(option)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A filter that comes from a link, and can be removed. */
function Chosen({ name, value }: { name: string; value: string | undefined }) {
  if (value === undefined) return null;
  return (
    <button type="button" class="chosen" onClick={() => changeQuery({ [name]: undefined })}>
      {name}: {value} <span aria-hidden="true">✕</span>
      <span class="visually-hidden">(remove)</span>
    </button>
  );
}

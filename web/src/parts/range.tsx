import { Segments } from './controls.tsx';
import { useFilters } from './filters.ts';

export const ranges = ['1h', '6h', '24h', '7d', '30d', '90d'] as const;
export type Range = (typeof ranges)[number];

/** The range of a page, kept in the URL. */
export function useRange(first: Range = '24h'): [Range, (range: Range) => void] {
  const [{ range }, setFilters] = useFilters<'range'>();
  const chosen = ranges.find((one) => one === range) ?? first;
  return [chosen, (next) => setFilters({ range: next === first ? '' : next })];
}

export function RangePicker({ value, onValue }: { value: Range; onValue: (range: Range) => void }) {
  return (
    <Segments
      label="Range"
      value={value}
      options={ranges.map((one) => ({ value: one, label: one }))}
      onValue={onValue}
    />
  );
}

import type { Query } from '../../api/request.ts';
import { RangePicker } from '../../parts/ranges/range-picker.tsx';
import { useRange } from '../../parts/ranges/use-range.ts';
import ByDay from './by-day.tsx';

/** Spending of one key or account, by model, over a range that the page's address names. */
export default function Spend({ query }: { query: Query }) {
  const range = useRange('30d');
  return (
    <ByDay query={query} groupBy="model" range={range} measure="cost_usd" actions={<RangePicker range={range} />} />
  );
}

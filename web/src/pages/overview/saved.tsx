import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { CacheReply } from '../../../../src/admin/cache.ts';
import { get } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { percent, plural, usd } from '../../parts/format.ts';
import type { Ranged } from '../../parts/ranges/use-range.ts';

/** Savings of models' caches in the range, over all accounts; nothing where no request had a hit. */
export function Saved({ range }: { range: Ranged }) {
  const may = useMay('models', 'read');
  const { data } = useQuery({
    queryKey: ['/admin/v1/cache', range.query],
    queryFn: ({ signal }) => get<CacheReply>('/admin/v1/cache', { ...range.query, limit: 1 }, signal),
    enabled: may,
    staleTime: 60_000,
  });
  const rows = data?.models ?? [];
  const sum = (of: (row: CacheReply['models'][number]) => number) => rows.reduce((before, row) => before + of(row), 0);
  const hits = sum((row) => row.hits);
  if (hits === 0) return null;
  const rate = hits / (hits + sum((row) => row.misses));
  return (
    <p className="text-muted text-sm">
      Caches saved {usd(sum((row) => row.saved_usd))} by {plural(hits, 'hit')}, {percent(rate)} of the look-ups.{' '}
      <Link to="/dashboard/cache" search={range.search as never} className="text-accent underline underline-offset-2">
        Cache
      </Link>
    </p>
  );
}

import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, Navigate } from '@tanstack/react-router';
import { Suspense } from 'react';
import type { Overview } from '../../../../src/admin/overview.ts';
import { get } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { buttonClass } from '../../parts/button.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { useFilters } from '../../parts/filters.ts';
import { lazyPart } from '../../parts/lazy-part.ts';
import { Page } from '../../parts/page.tsx';
import { RangePicker } from '../../parts/ranges/range-picker.tsx';
import { useRange } from '../../parts/ranges/use-range.ts';
import { Pending, Skeleton } from '../../parts/skeleton.tsx';
import { useWelcome } from '../welcome/use-welcome.ts';
import { Figures } from './figures.tsx';
import { Saved } from './saved.tsx';
import { Tops } from './tops.tsx';
import { Wrongs } from './wrongs.tsx';

const Charts = lazyPart(() => import('./charts.tsx'));

/** Ranges of `GET /admin/v1/overview`. */
const presetRanges = ['1h', '6h', '24h', '7d', '30d', '90d'];

/** Interval at which the page is requested again. */
const everyMs = 10_000;

/** Activity and problems. */
export default function OverviewPage() {
  const [{ account }] = useFilters<'account'>();
  const range = useRange();
  // A range that the server has ready-made ends with the step that is running.
  const query = presetRanges.includes(range.text) ? { range: range.text } : range.query;
  const { data, error, refetch } = useQuery({
    queryKey: ['/admin/v1/overview', query, account],
    queryFn: ({ signal }) => get<Overview>('/admin/v1/overview', { ...query, account }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: everyMs,
  });
  const welcome = useWelcome();
  const mayProviders = useMay('providers', 'read');
  if (welcome) return <Navigate to={'/dashboard/welcome' as never} replace />;
  return (
    <Page
      title={account === undefined ? 'Overview' : `Overview of ${account}`}
      actions={
        <>
          {mayProviders && (
            <Link
              to="/dashboard/providers"
              search={{ range: '1h', sort: '-first_token_p95_ms' } as never}
              className={buttonClass()}
            >
              Slowest of the last hour
            </Link>
          )}
          <RangePicker range={range} />
        </>
      }
    >
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <Waiting />}
      {data !== undefined && (
        <>
          <Wrongs wrong={data.wrong} />
          <Figures totals={data.totals} before={data.before} />
          {account === undefined && <Saved range={range} />}
          <Suspense fallback={<Pending className="h-96" />}>
            <Charts overview={data} range={range} account={account} />
          </Suspense>
          <Tops overview={data} range={range} account={account} />
        </>
      )}
    </Page>
  );
}

function Waiting() {
  return (
    <div role="status" aria-label="Loading" className="flex flex-col gap-4">
      <Skeleton className="h-9" />
      <Skeleton className="h-24" />
      <div className="grid gap-4 lg:grid-cols-2">
        <Skeleton className="h-60" />
        <Skeleton className="h-60" />
      </div>
    </div>
  );
}

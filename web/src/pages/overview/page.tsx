import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, Navigate } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import type { Overview } from '../../../../src/admin/overview.ts';
import { get } from '../../api/request.ts';
import { buttonClass } from '../../parts/button.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Page } from '../../parts/page.tsx';
import { RangePicker, useRange } from '../../parts/range.tsx';
import { Pending, Skeleton } from '../../parts/skeleton.tsx';
import { useWelcome } from '../welcome/use-welcome.ts';
import { Figures } from './figures.tsx';
import { Saved } from './saved.tsx';
import { Tops } from './tops.tsx';
import { Wrongs } from './wrongs.tsx';

const Charts = lazy(() => import('./charts.tsx'));

/** Interval at which the page is requested again. */
const everyMs = 10_000;

/** Activity and problems. */
export default function OverviewPage() {
  const [{ account }] = useFilters<'account'>();
  const [range, setRange] = useRange();
  const { data, error, refetch } = useQuery({
    queryKey: ['/admin/v1/overview', range, account],
    queryFn: ({ signal }) => get<Overview>('/admin/v1/overview', { range, account }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: everyMs,
  });
  const welcome = useWelcome();
  if (welcome) return <Navigate to={'/dashboard/welcome' as never} replace />;
  return (
    <Page
      title={account === undefined ? 'Overview' : `Overview of ${account}`}
      actions={
        <>
          <Link
            to="/dashboard/providers"
            search={{ range: '1h', sort: '-first_token_p95_ms' } as never}
            className={buttonClass()}
          >
            Slowest of the last hour
          </Link>
          <RangePicker value={range} onValue={setRange} />
        </>
      }
    >
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <Waiting />}
      {data !== undefined && (
        <>
          <Wrongs wrong={data.wrong} />
          <Figures totals={data.totals} before={data.before} range={data.range} />
          {account === undefined && <Saved range={data.range} />}
          <Suspense fallback={<Pending className="h-96" />}>
            <Charts overview={data} />
          </Suspense>
          <Tops overview={data} account={account} />
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

import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import type { Listed } from '../../api/pages.ts';
import { get } from '../../api/request.ts';
import { ErrorNote } from '../../parts/error-note.tsx';
import { usd } from '../../parts/format.ts';
import { Page, Section } from '../../parts/page.tsx';
import { Skeleton } from '../../parts/skeleton.tsx';

const Chart = lazy(() => import('../../parts/chart.tsx'));

interface UsageDay {
  group: string;
  requests: number;
  errors: number;
  cost_usd: number;
}

export default function OverviewPage() {
  const { data, error, refetch } = useQuery({
    queryKey: ['/admin/v1/usage', 'day'],
    queryFn: ({ signal }) => get<Listed<UsageDay>>('/admin/v1/usage', { group_by: 'day' }, signal),
  });
  const days = data?.data ?? [];
  const times = days.map(({ group }) => Date.parse(group));
  return (
    <Page title="Overview">
      {error !== null && <ErrorNote error={error} retry={() => void refetch()} />}
      <div className="grid gap-4 lg:grid-cols-2">
        <Section title="Requests">
          <Suspense fallback={<Skeleton className="h-44" />}>
            <Chart
              label="Requests by day"
              kind="bars"
              times={times}
              stepMs={86_400_000}
              series={[
                { label: 'Served', colour: 1, values: days.map(({ requests, errors }) => requests - errors) },
                { label: 'Failed', colour: 'bad', values: days.map(({ errors }) => errors) },
              ]}
            />
          </Suspense>
        </Section>
        <Section title="Spend">
          <Suspense fallback={<Skeleton className="h-44" />}>
            <Chart
              label="Spend by day"
              kind="bars"
              times={times}
              stepMs={86_400_000}
              format={usd}
              series={[{ label: 'USD', colour: 2, values: days.map(({ cost_usd }) => cost_usd) }]}
            />
          </Suspense>
        </Section>
      </div>
    </Page>
  );
}

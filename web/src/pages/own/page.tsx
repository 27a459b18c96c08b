import { useQuery } from '@tanstack/react-query';
import { Suspense } from 'react';
import { type Caller, useCaller } from '../../api/caller.ts';
import { get } from '../../api/request.ts';
import { useSession } from '../../api/session.ts';
import { Empty } from '../../parts/empty.tsx';
import { Count, None } from '../../parts/figures.tsx';
import { bytes, usd } from '../../parts/format.ts';
import { lazyPart } from '../../parts/lazy-part.ts';
import { Page, Section } from '../../parts/page.tsx';
import { shownZone } from '../../parts/ranges/zone.ts';
import { Read } from '../../parts/read.tsx';
import { Skeleton } from '../../parts/skeleton.tsx';
import { Spend } from '../../parts/spend.tsx';
import { Gauge } from '../../parts/status.tsx';
import { type Column, Table } from '../../parts/tables/table.tsx';
import { WindowGauges } from '../../parts/window-gauges.tsx';
import { type MemberUsage, type UsedRow, windowsIn } from './own-usage.ts';

const DayChart = lazyPart(() => import('./day-chart.tsx'));

/** While the page is visible, limits are read so often. */
const everyMs = 10_000;

/** Rights of the logged-in key, and the usage of its account. */
export default function MemberPage() {
  const session = useSession();
  const { caller } = useCaller();
  const query = useQuery({
    queryKey: ['/v1/usage', 'day'],
    queryFn: ({ signal }) => get<MemberUsage>('/v1/usage', { group_by: 'day' }, signal, caller!.headers),
    refetchInterval: everyMs,
  });
  if (session.kind !== 'key') return null;
  const { data } = query;
  return (
    <Page title={session.key.name}>
      <p className="text-muted text-sm">
        This key belongs to the account {session.account}
        {data !== undefined && `, which has the plan ${data.plan}`}.{' '}
        {shownZone() === 'UTC' ? 'Times are in UTC.' : `Times are in ${shownZone()}, and days of usage in UTC.`}
      </p>
      <Read query={query}>
        {(data) => (
          <>
            <Section title="Limits">
              <div className="flex flex-col gap-5">
                <WindowGauges windows={windowsIn(data)} />
                {data.credit !== undefined && <Credit {...data.credit} />}
                <Storage {...data.storage} />
              </div>
            </Section>
            {data.key !== null && (
              <Section title="Limits of this key">
                <WindowGauges windows={windowsIn({ ...data.key, tiers: {} })} />
              </Section>
            )}
            <Section title="Usage by day">
              <Suspense fallback={<Skeleton className="h-44" />}>
                <DayChart rows={data.data} />
              </Suspense>
            </Section>
            <ByModel caller={caller!} />
          </>
        )}
      </Read>
    </Page>
  );
}

/** Money that the account has paid before and not used; below zero, the next payment pays for that first. */
function Credit({ granted, remaining }: NonNullable<MemberUsage['credit']>) {
  return (
    <p className="text-sm">
      <span className="font-medium">Credit</span>: {usd(remaining)} left{' '}
      <span className="text-muted">of {usd(granted)} that were added</span>
    </p>
  );
}

function Storage({ used_bytes, allowed_bytes }: MemberUsage['storage']) {
  if (used_bytes === 0 && allowed_bytes === null) return null;
  return (
    <div className="flex flex-col gap-1.5 sm:max-w-xs">
      <div className="flex items-baseline justify-between gap-2 text-sm">
        <span className="font-medium">Storage</span>
        <span>
          {bytes(used_bytes)} {allowed_bytes !== null && <span className="text-muted">of {bytes(allowed_bytes)}</span>}
        </span>
      </div>
      <Gauge label="Storage" share={allowed_bytes === null ? null : used_bytes / allowed_bytes} />
    </div>
  );
}

const columns: Column<UsedRow>[] = [
  {
    head: 'Model',
    cell: ({ group }) => <span className="[overflow-wrap:anywhere]">{group === '' ? <None /> : group}</span>,
  },
  { head: 'Requests', align: 'right', cell: ({ requests }) => <Count value={requests} /> },
  { head: 'Input tokens', align: 'right', from: 'sm', cell: ({ input_tokens }) => <Count value={input_tokens} /> },
  { head: 'Output tokens', align: 'right', from: 'sm', cell: ({ output_tokens }) => <Count value={output_tokens} /> },
  { head: 'Units', align: 'right', from: 'md', cell: ({ units }) => <Count value={units} /> },
  { head: 'Cost', align: 'right', value: ({ cost_usd }) => cost_usd, cell: (row) => <Spend sum={row} /> },
];

function ByModel({ caller }: { caller: Caller }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['/v1/usage', 'model'],
    queryFn: ({ signal }) => get<MemberUsage>('/v1/usage', { group_by: 'model' }, signal, caller.headers),
    refetchInterval: everyMs,
  });
  return (
    <div className="flex flex-col gap-2">
      <h2 className="font-medium text-sm">Usage by model, last 30 days</h2>
      <Table
        label="Usage by model"
        columns={columns}
        rows={data?.data}
        keyOf={({ group }) => group}
        error={error}
        retry={() => void refetch()}
        empty={<Empty title="There is no usage yet.">The requests of this account appear here.</Empty>}
      />
    </div>
  );
}

import { useQuery } from '@tanstack/react-query';
import type { AgentSessions } from '../../../../src/admin/agent-sessions.ts';
import type { KeyReply } from '../../../../src/admin/entries/keys.ts';
import { get } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { ErrorNote } from '../../parts/error-note.tsx';
import { Ago, Count, None } from '../../parts/figures.tsx';
import { Section } from '../../parts/page.tsx';
import { Spend } from '../../parts/spend.tsx';
import { type Column, Table } from '../../parts/tables/table.tsx';

type Run = AgentSessions['data'][number];

/** Sessions that the server sums up, at most. */
const sessionsMax = 1_000;
const prefix = 'run:';

const columns: readonly Column<Run>[] = [
  { head: 'Run', value: ({ session }) => session, cell: ({ session }) => <code>{session.slice(prefix.length)}</code> },
  { head: 'Last request', cell: ({ last_at }) => <Ago at={last_at} /> },
  { head: 'Models', from: 'lg', value: ({ models }) => models.join(', '), cell: ({ models }) => models.join(', ') },
  { head: 'Requests', from: 'sm', align: 'right', cell: ({ requests }) => <Count value={requests} /> },
  {
    head: 'Failed',
    from: 'md',
    align: 'right',
    value: ({ errors }) => errors,
    cell: ({ errors }) => (errors === 0 ? <None /> : <Count value={errors} />),
  },
  { head: 'Cost', align: 'right', value: ({ cost_usd }) => cost_usd, cell: (row) => <Spend sum={row} at="models" /> },
];

/** Keys of runs that a key made, by what they have used. */
export function Runs({ of }: { of: KeyReply }) {
  return useMay('requests', 'read') ? <RunsOf id={of.id} /> : null;
}

function RunsOf({ id }: { id: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['/admin/v1/agent-sessions', id],
    queryFn: ({ signal }) => get<AgentSessions>('/admin/v1/agent-sessions', { key: id, limit: sessionsMax }, signal),
  });
  if (error !== null) return <ErrorNote error={error} retry={() => void refetch()} />;
  const runs = data?.data.filter(({ session }) => session.startsWith(prefix)) ?? [];
  if (runs.length === 0) return null;
  return (
    <Section title="Runs" inside="flush">
      <Table
        label="Runs"
        columns={columns}
        rows={runs}
        keyOf={({ session }) => session}
        to={({ session, account }) => `/dashboard/sessions/timeline?${new URLSearchParams({ session, account })}`}
        empty={null}
      />
    </Section>
  );
}

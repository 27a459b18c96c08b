import { Server } from 'lucide-react';
import type { ProcessRow } from '../../../../src/admin/cluster.ts';
import { usePages } from '../../api/pages.ts';
import { Empty } from '../../parts/empty.tsx';
import { Ago, Count, None } from '../../parts/figures.tsx';
import { bytes, percent } from '../../parts/format.ts';
import { Page } from '../../parts/page.tsx';
import { Badge, Status, type Tone } from '../../parts/status.tsx';
import { type Column, NameCell, PagedTable } from '../../parts/tables/table.tsx';

const refreshEveryMs = 5_000;

const tones: Readonly<Record<ProcessRow['state'], Tone>> = {
  serving: 'ok',
  draining: 'accent',
  silent: 'warn',
  gone: 'bad',
  unknown: 'plain',
};

/** The processes that share the stores: what they run, and how they do. */
export default function ReplicasPage() {
  const pages = usePages<ProcessRow>('/admin/v1/cluster', {}, { everyMs: refreshEveryMs, inUrl: true });
  return (
    <Page title="Replicas">
      <PagedTable
        label="Replicas and their workers"
        pages={pages}
        columns={columns}
        keyOf={({ id }) => id}
        empty={<Empty title="No process has reported yet." icon={<Server />} />}
      />
    </Page>
  );
}

const columns: readonly Column<ProcessRow>[] = [
  {
    head: 'Process',
    cell: ({ host, pid, worker, id }) => (
      <NameCell name={host ?? id}>
        {worker !== null && `Worker ${worker}, `}
        {pid === null ? 'has not reported yet' : `pid ${pid}`}
      </NameCell>
    ),
  },
  { head: 'State', cell: ({ state }) => <Status tone={tones[state]}>{state}</Status> },
  { head: 'Version', from: 'md', cell: (row) => <Compared row={row} of="version" /> },
  { head: 'Configuration', from: 'sm', cell: (row) => <Compared row={row} of="configuration" /> },
  { head: 'Started', from: 'xl', cell: ({ started_at }) => <Ago at={started_at} /> },
  { head: 'Requests', align: 'right', cell: ({ requests }) => <Count value={requests} /> },
  { head: 'Busy', from: 'lg', align: 'right', cell: ({ busy }) => (busy === null ? <None /> : percent(busy)) },
  {
    head: 'Loop delay',
    from: 'xl',
    align: 'right',
    cell: ({ loop_delay_ms }) => (loop_delay_ms === null ? <None /> : `${loop_delay_ms} ms`),
  },
  {
    head: 'Memory',
    from: 'lg',
    align: 'right',
    cell: ({ memory_bytes }) => (memory_bytes === null ? <None /> : bytes(memory_bytes)),
  },
  { head: 'Seen', from: 'md', cell: ({ seen_at }) => <Ago at={seen_at} /> },
];

/** A value, marked where most processes have another. */
function Compared({ row, of }: { row: ProcessRow; of: 'version' | 'configuration' }) {
  const value = row[of];
  if (value === null) return <None />;
  if (!row.differs.includes(of)) return <span className="font-mono text-xs">{value}</span>;
  return (
    <Badge tone="warn" title={`Other processes have another ${of}.`}>
      {value} differs
    </Badge>
  );
}

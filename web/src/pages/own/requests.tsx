import { useCaller } from '../../api/caller.ts';
import { type Listed, usePagesOf } from '../../api/pages.ts';
import { get } from '../../api/request.ts';
import { Select } from '../../parts/controls.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Moment, Span } from '../../parts/figures.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Page } from '../../parts/page.tsx';
import { type Column, PagedTable } from '../../parts/tables/table.tsx';
import { Cost } from '../requests/cost.tsx';
import { failureText, Outcome } from '../requests/outcome.tsx';

/** A request as `/v1/requests` shows it to its caller. */
interface MemberRequest {
  id: string;
  created_at: string;
  endpoint: string;
  model: string;
  target: string | null;
  status: number;
  class: string;
  ms: number;
  cost_usd: number | null;
  cache: string | null;
  usage: { source: string };
  route: { refused?: { message: string } | null; attempts: { class: string; message?: string | null }[] };
}

const columns: Column<MemberRequest>[] = [
  { head: 'Time', cell: ({ created_at }) => <Moment at={created_at} />, className: 'w-px' },
  { head: 'Status', cell: (row) => <Outcome status={row.status} failure={row.class} />, className: 'w-px' },
  {
    head: 'Request',
    cell: (row) => (
      <div className="min-w-0 max-w-[60cqw]">
        <div className="truncate font-medium">{row.model === '' ? row.endpoint : row.model}</div>
        <div className="text-muted text-xs [overflow-wrap:anywhere]">{reasonOf(row) ?? row.id}</div>
      </div>
    ),
  },
  { head: 'Duration', from: 'md', align: 'right', cell: ({ ms }) => <Span ms={ms} /> },
  { head: 'Cost', from: 'sm', align: 'right', cell: (row) => <Cost request={row} /> },
];

/** Why it was refused or failed; null: it did not. */
function reasonOf({ class: failure, route }: MemberRequest): string | null {
  if (failure === 'ok') return null;
  const last = route.attempts.at(-1);
  const why = route.refused?.message ?? last?.message ?? null;
  return why ?? failureText(last?.class ?? failure);
}

/** Page of the requests of the logged-in key, refused ones too. */
export default function MemberRequestsPage() {
  const { caller } = useCaller();
  const [{ class: named }, setFilters] = useFilters<'class'>();
  const outcome = named === 'ok' || named === 'failed' ? named : 'any';
  const pages = usePagesOf<MemberRequest, string>(
    ['/v1/requests', outcome],
    (cursor, signal) =>
      get<Listed<MemberRequest>>('/v1/requests', { class: outcome, limit: 50, cursor }, signal, caller?.headers),
    { inUrl: true },
  );
  return (
    <Page
      title="Requests"
      bar={
        <Select
          aria-label="Outcome"
          className="w-auto"
          value={outcome}
          onChange={({ target }) => setFilters({ class: target.value === 'any' ? '' : target.value })}
        >
          <option value="any">All outcomes</option>
          <option value="ok">Succeeded</option>
          <option value="failed">Refused or failed</option>
        </Select>
      }
    >
      <PagedTable
        label="Requests"
        pages={pages}
        columns={columns}
        keyOf={({ id }) => id}
        empty={
          outcome === 'any' ? (
            <Empty title="There are no requests.">A request of this key appears here once it has ended.</Empty>
          ) : (
            <Empty title="No request has this outcome.">Choose another outcome to see more.</Empty>
          )
        }
      />
    </Page>
  );
}

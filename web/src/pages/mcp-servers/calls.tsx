import { usePages } from '../../api/pages.ts';
import { Empty } from '../../parts/empty.tsx';
import { Moment, None, Span } from '../../parts/figures.tsx';
import { useFilters } from '../../parts/filters.ts';
import { FilterInput } from '../../parts/forms/suggest-input.tsx';
import { Back, Page } from '../../parts/page.tsx';
import { anyTime } from '../../parts/ranges/range.ts';
import { RangePicker } from '../../parts/ranges/range-picker.tsx';
import { useRange } from '../../parts/ranges/use-range.ts';
import { type Column, NameCell, PagedTable } from '../../parts/tables/table.tsx';
import { Cost } from '../requests/cost.tsx';
import { Export } from '../requests/export.tsx';
import { failureText, Outcome } from '../requests/outcome.tsx';
import type { RequestRow } from '../requests/use-requests.ts';

const columns: readonly Column<RequestRow>[] = [
  { head: 'Time', cell: ({ created_at }) => <Moment at={created_at} />, className: 'w-px' },
  {
    head: 'Tool',
    value: ({ model }) => model,
    cell: ({ model, route }) => <NameCell name={route.mcp?.name ?? model}>{route.mcp?.server}</NameCell>,
  },
  {
    head: 'Server',
    from: 'lg',
    value: ({ route }) => route.mcp?.server ?? '',
    cell: ({ route }) => route.mcp?.server ?? <None />,
  },
  { head: 'Key', from: 'sm', value: ({ tenant }) => tenant, cell: ({ tenant }) => tenant },
  {
    head: 'Outcome',
    value: ({ class: failure }) => failure,
    cell: ({ status, class: failure }) => (
      <span className="inline-flex items-center gap-1.5">
        <Outcome status={status} failure={failure} />
        <span className="hidden text-muted @2xl:inline">{failureText(failure)}</span>
      </span>
    ),
  },
  { head: 'Duration', from: 'md', align: 'right', value: ({ ms }) => ms, cell: ({ ms }) => <Span ms={ms} /> },
  { head: 'Units', from: 'md', align: 'right', cell: ({ units }) => units },
  {
    head: 'Cost',
    from: 'lg',
    align: 'right',
    value: ({ cost_usd }) => cost_usd,
    cell: (row) => <Cost request={row} />,
  },
];

const names = ['mcp_server', 'account', 'key', 'class'] as const;

/** Calls of the tools, prompts and resources of MCP servers, from the log of requests. */
export default function McpCallsPage() {
  const [filters, setFilters] = useFilters<(typeof names)[number]>();
  const range = useRange(anyTime, 'any');
  const { from, to } = range.query;
  const { mcp_server, account, key } = filters;
  const query = { endpoint: 'mcp-call', mcp_server, account, key, class: filters.class ?? 'any' };
  const pages = usePages<RequestRow>('/admin/v1/requests', { ...query, since: from, until: to }, { inUrl: true });
  const filter = (name: (typeof names)[number]) => ({
    value: filters[name],
    onValue: (value: string) => setFilters({ [name]: value }),
  });
  const some = range.text !== anyTime || names.some((name) => filters[name] !== undefined);
  return (
    <Page
      title="MCP calls"
      before={<Back to="/dashboard/mcp-servers" label="MCP servers" />}
      actions={
        <>
          <RangePicker range={range} any />
          <Export filters={{ ...query, from: from ?? '1970-01-01', to }} />
        </>
      }
      bar={
        <>
          <FilterInput label="MCP server" from="/admin/v1/mcp-servers" field="name" {...filter('mcp_server')} />
          <FilterInput label="Account" from="/admin/v1/accounts" field="id" {...filter('account')} />
          <FilterInput label="Key id" from="/admin/v1/keys" field="id" {...filter('key')} />
          <FilterInput label="Outcome" {...filter('class')} />
        </>
      }
    >
      <PagedTable
        label="MCP calls"
        pages={pages}
        columns={columns}
        keyOf={({ id }) => id}
        to={({ id }) => `/dashboard/requests/${id}`}
        empty={
          <Empty title={some ? 'No call matches these filters.' : 'There are no calls yet.'}>
            {some ? 'Remove a filter or choose a longer time.' : 'A call appears here once it has ended.'}
          </Empty>
        }
      />
    </Page>
  );
}

import { Download } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { usePages } from '../../api/pages.ts';
import { url } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Button } from '../../parts/button.tsx';
import { Select } from '../../parts/controls.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Count, Money, None } from '../../parts/figures.tsx';
import { useFilters } from '../../parts/filters.ts';
import { percent, plural } from '../../parts/format.ts';
import { Page } from '../../parts/page.tsx';
import { RangePicker } from '../../parts/range-picker.tsx';
import { saveFrom } from '../../parts/save.ts';
import { Pending } from '../../parts/skeleton.tsx';
import { Spend } from '../../parts/spend.tsx';
import { FilterInput } from '../../parts/suggest-input.tsx';
import { type Column, PagedTable } from '../../parts/table.tsx';
import { useRange } from '../../parts/use-range.ts';
import { Attempts } from '../attempts/attempts.tsx';
import { type Measure, measures } from './measures.ts';
import { Recalculate } from './recalculate.tsx';
import type { UsageRow } from './use-by-day.ts';

const ByDay = lazy(() => import('./by-day.tsx'));

const groups = [
  ['day', 'Day'],
  ['model', 'Model'],
  ['account', 'Account'],
  ['key', 'Key'],
  ['user', 'User'],
  ['provider', 'Provider'],
  ['endpoint', 'Endpoint'],
  ['tag', 'Tag'],
] as const;
const filterNames = ['account', 'model', 'provider', 'key', 'user', 'tag'] as const;
type Name = 'group_by' | 'measure' | (typeof filterNames)[number];

/** Days fit one page, so that they can be shown newest first. */
const daysMax = 1_000;

/** Sums of usage. */
export default function UsagePage() {
  const [filters, setFilters] = useFilters<Name>();
  const { group_by = 'day' } = filters;
  const range = useRange('30d');
  const measure =
    filters.measure !== undefined && filters.measure in measures ? (filters.measure as Measure) : 'cost_usd';
  const chosen = Object.fromEntries(filterNames.map((name) => [name, filters[name]]));
  const query = { ...chosen, ...range.query, group_by, time_zone: group_by === 'day' ? range.zone : undefined };
  const pages = usePages<UsageRow>('/admin/v1/usage', query, group_by === 'day' ? { limit: daysMax } : {});
  const rows = group_by === 'day' ? pages.rows?.toReversed() : pages.rows;
  const [recalculating, setRecalculating] = useState(false);
  const mayRecalculate = useMay('usage', 'write');
  const title = groups.find(([value]) => value === group_by)?.[1] ?? 'Group';
  return (
    <Page
      title="Usage"
      actions={
        <>
          <RangePicker range={range} />
          {mayRecalculate && <Button onClick={() => setRecalculating(true)}>Recalculate</Button>}
          <Button
            icon={<Download className="size-4" />}
            onClick={() => saveFrom(url('/admin/v1/usage.csv', query), `usage-by-${group_by}.csv`)}
          >
            CSV
          </Button>
        </>
      }
      bar={
        <>
          <Select
            aria-label="Group by"
            value={group_by}
            className="w-[calc(50%-4px)] sm:w-auto"
            onChange={({ target: { value } }) => setFilters({ group_by: value })}
          >
            {groups.map(([value, label]) => (
              <option key={value} value={value}>
                By {label.toLowerCase()}
              </option>
            ))}
          </Select>
          <Select
            aria-label="Measure"
            value={measure}
            className="w-[calc(50%-4px)] sm:w-auto"
            onChange={({ target: { value } }) => setFilters({ measure: value })}
          >
            {Object.entries(measures).map(([value, { label }]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </Select>
          <FilterInput
            label="Account"
            from="/admin/v1/accounts"
            field="id"
            value={filters.account}
            onValue={(account) => setFilters({ account })}
          />
          <FilterInput
            label="Model"
            from="/admin/v1/models"
            field="id"
            value={filters.model}
            onValue={(model) => setFilters({ model })}
          />
          <FilterInput
            label="Provider"
            from="/admin/v1/usage?group_by=provider"
            field="group"
            value={filters.provider}
            onValue={(provider) => setFilters({ provider })}
          />
          <FilterInput
            label="Tag"
            from="/admin/v1/usage?group_by=tag"
            field="group"
            value={filters.tag}
            onValue={(tag) => setFilters({ tag })}
          />
        </>
      }
    >
      <Suspense fallback={<Pending className="h-64" />}>
        <ByDay query={chosen} groupBy={group_by} range={range} measure={measure} />
      </Suspense>
      <PagedTable
        label={`Usage by ${group_by}`}
        pages={{ ...pages, rows }}
        columns={columnsFor(title, rows ?? [], measure, group_by)}
        keyOf={({ group }) => group}
        empty={<Empty title="There is no usage.">Choose a longer range or remove a filter.</Empty>}
      />
      <Dialog
        open={recalculating}
        onClose={() => setRecalculating(false)}
        title="Recalculate"
        description="Past requests get the cost that they have by the prices of today."
      >
        <Recalculate
          span={range.query}
          account={filters.account}
          model={filters.model}
          onDone={() => setRecalculating(false)}
        />
      </Dialog>
      {group_by === 'provider' && (
        <Attempts
          where={{ provider: filters.provider, model: filters.model }}
          groups={['provider', 'target', 'credential', 'class']}
          range={range}
        />
      )}
    </Page>
  );
}

function columnsFor(title: string, rows: readonly UsageRow[], measure: Measure, groupBy: string): Column<UsageRow>[] {
  const { of } = measures[measure];
  const most = Math.max(...rows.map(of), 1e-12);
  return [
    {
      head: title,
      cell: ({ group }) => (group === '' ? <None /> : <span className="[overflow-wrap:anywhere]">{group}</span>),
    },
    { head: 'Requests', align: 'right', cell: ({ requests }) => <Count value={requests} /> },
    {
      head: 'Failed',
      value: ({ errors }) => errors,
      from: 'md',
      align: 'right',
      cell: ({ errors, requests }) =>
        errors === 0 ? <None /> : <span title={plural(errors, 'request')}>{percent(errors / requests)}</span>,
    },
    { head: 'Input tokens', from: 'md', align: 'right', cell: ({ input_tokens }) => <Count value={input_tokens} /> },
    { head: 'Output tokens', from: 'md', align: 'right', cell: ({ output_tokens }) => <Count value={output_tokens} /> },
    { head: 'Units', from: 'sm', align: 'right', cell: ({ units }) => <Count value={units} /> },
    {
      head: 'Estimated',
      from: 'xl',
      align: 'right',
      cell: ({ estimated_cost_usd }) => (estimated_cost_usd === 0 ? <None /> : <Money value={estimated_cost_usd} />),
    },
    {
      head: 'Compared',
      kind: 'actions',
      from: 'lg',
      className: 'w-40',
      cell: (row) => (
        <div className="h-1.5 overflow-hidden rounded-full bg-line" aria-hidden>
          <div className="h-full rounded-full bg-accent" style={{ width: `${(of(row) / most) * 100}%` }} />
        </div>
      ),
    },
    {
      head: 'Cost',
      align: 'right',
      value: ({ cost_usd }) => cost_usd,
      cell: (row) => <Spend sum={row} at={groupBy === 'model' ? { model: row.group } : 'models'} />,
    },
  ];
}

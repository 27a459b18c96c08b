import { Link } from '@tanstack/react-router';
import { Download } from 'lucide-react';
import { Suspense, useState } from 'react';
import { useMay } from '../../api/rights.ts';
import { Button, buttonClass } from '../../parts/button.tsx';
import { Select } from '../../parts/controls.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Note } from '../../parts/error-note.tsx';
import { Count, Money, None } from '../../parts/figures.tsx';
import { useFilters } from '../../parts/filters.ts';
import { percent, plural } from '../../parts/format.ts';
import { saveAnswer } from '../../parts/forms/save.ts';
import { AccountFilter, FilterInput, KeyFilter } from '../../parts/forms/suggest-input.tsx';
import { lazyPart } from '../../parts/lazy-part.ts';
import { Page } from '../../parts/page.tsx';
import { RangePicker } from '../../parts/ranges/range-picker.tsx';
import { useRange } from '../../parts/ranges/use-range.ts';
import { Pending } from '../../parts/skeleton.tsx';
import { Spend } from '../../parts/spend.tsx';
import { type Column, PagedTable } from '../../parts/tables/table.tsx';
import { Attempts } from '../attempts/attempts.tsx';
import { type Measure, measures, type UsageRow } from './measures.ts';
import { Recalculate } from './recalculate.tsx';
import { useUsage } from './use-usage.ts';

const ByDay = lazyPart(() => import('./by-day.tsx'));

const groups = [
  ['day', 'Day'],
  ['model', 'Model'],
  ['account', 'Account'],
  ['key', 'Key'],
  ['user', 'User'],
  ['provider', 'Provider'],
  ['endpoint', 'Endpoint'],
  ['tag', 'Tag'],
  ['key_tag', 'Key tag'],
] as const;
const filterNames = ['account', 'model', 'provider', 'key', 'user', 'tag', 'key_tag'] as const;
type Name = 'group_by' | 'split_by' | 'measure' | (typeof filterNames)[number];

/** Sums of usage. */
export default function UsagePage() {
  const [filters, setFilters] = useFilters<Name>();
  const { group_by = 'day' } = filters;
  const split_by = filters.split_by === group_by ? undefined : filters.split_by;
  const range = useRange('30d');
  const measure =
    filters.measure !== undefined && filters.measure in measures ? (filters.measure as Measure) : 'cost_usd';
  const chosen = Object.fromEntries(filterNames.map((name) => [name, filters[name]]));
  const { account, model, provider, key } = filters;
  const costed = { account, model, provider, key };
  const hasMore = ['user', 'tag', 'key_tag'].some((name) => chosen[name] !== undefined);
  const isByDay = group_by === 'day' || split_by === 'day';
  const time_zone = isByDay ? range.zone : undefined;
  const query = { ...chosen, ...range.query, group_by, split_by, order_by: measure, time_zone };
  const pages = useUsage(query, group_by);
  const [recalculating, setRecalculating] = useState(false);
  const mayRecalculate = useMay('usage', 'write');
  return (
    <Page
      title="Usage"
      actions={
        <>
          <RangePicker range={range} />
          <Link to={'/dashboard/statements' as never} className={buttonClass()}>
            Statements
          </Link>
          {mayRecalculate && <Button onClick={() => setRecalculating(true)}>Recalculate</Button>}
          <Button
            icon={<Download className="size-4" />}
            onClick={() =>
              void saveAnswer(
                '/admin/v1/usage.csv',
                query,
                `usage-by-${[group_by, split_by].filter(Boolean).join('-and-')}.csv`,
              )
            }
          >
            CSV
          </Button>
          <Button
            icon={<Download className="size-4" />}
            disabled={hasMore}
            title={
              hasMore
                ? 'A file of FOCUS has no filter by user or tag.'
                : 'Costs in the columns of FOCUS 1.2, for tools of FinOps'
            }
            onClick={() =>
              void saveAnswer('/admin/v1/usage/focus.csv', { ...costed, ...range.query }, 'costs-focus.csv')
            }
          >
            FOCUS
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
            aria-label="And by"
            value={split_by ?? ''}
            className="w-[calc(50%-4px)] sm:w-auto"
            onChange={({ target: { value } }) => setFilters({ split_by: value })}
          >
            <option value="">and nothing else</option>
            {groups
              .filter(([value]) => value !== group_by)
              .map(([value, label]) => (
                <option key={value} value={value}>
                  and by {label.toLowerCase()}
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
          <AccountFilter value={filters.account} onValue={(account) => setFilters({ account })} />
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
            label="Key tag"
            from="/admin/v1/usage?group_by=key_tag"
            field="group"
            value={filters.key_tag}
            onValue={(key_tag) => setFilters({ key_tag })}
          />
          <FilterInput
            label="Tag"
            from="/admin/v1/usage?group_by=tag"
            field="group"
            value={filters.tag}
            onValue={(tag) => setFilters({ tag })}
          />
          <KeyFilter value={filters.key} onValue={(key) => setFilters({ key })} />
          <FilterInput
            label="User"
            from="/admin/v1/usage?group_by=user"
            field="group"
            value={filters.user}
            onValue={(user) => setFilters({ user })}
          />
        </>
      }
    >
      <Suspense fallback={<Pending className="h-64" />}>
        <ByDay query={chosen} groupBy={group_by} range={range} measure={measure} />
      </Suspense>
      {pages.missing !== undefined && <Note tone="warn">{pages.missing}</Note>}
      <PagedTable
        label={`Usage by ${group_by}${split_by === undefined ? '' : ` and ${split_by}`}`}
        pages={pages}
        columns={columnsFor(pages.rows ?? [], measure, group_by, split_by)}
        keyOf={({ group, split }) => JSON.stringify([group, split])}
        empty={<Empty title="There is no usage.">Choose a longer range or remove a filter.</Empty>}
      />
      <Dialog
        open={recalculating}
        onClose={() => setRecalculating(false)}
        title="Recalculate"
        description="Past requests get the cost that today’s prices give them."
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

/** Pages of single entries, by what rows are of. */
const pagesOf: Readonly<Record<string, string>> = {
  account: 'accounts',
  key: 'keys',
  model: 'models',
  provider: 'providers',
};

/** Column that names the group of a row; an account or a key by its name, with its id below. */
function groupColumn(by: string, of: (row: UsageRow) => { id: string; name?: string | null }): Column<UsageRow> {
  const page = pagesOf[by];
  const shown = ({ id, name }: ReturnType<typeof of>) => (
    <div className="min-w-0 max-w-[32cqw] @xl:max-w-40 @4xl:max-w-56">
      <div className="line-clamp-2 [overflow-wrap:anywhere]" title={name ?? id}>
        {name ?? id}
      </div>
      {name != null && name !== id && <div className="truncate text-muted text-xs">{id}</div>}
    </div>
  );
  return {
    head: groups.find(([value]) => value === by)?.[1] ?? 'Group',
    value(row) {
      const { id, name } = of(row);
      return name == null || name === id ? id : `${name} (${id})`;
    },
    cell(row) {
      const group = of(row);
      if (group.id === '') return <None />;
      if (page === undefined) return shown(group);
      return (
        <Link to={`/dashboard/${page}/${encodeURIComponent(group.id)}` as never} className="hover:underline">
          {shown(group)}
        </Link>
      );
    },
  };
}

function columnsFor(
  rows: readonly UsageRow[],
  measure: Measure,
  groupBy: string,
  splitBy: string | undefined,
): Column<UsageRow>[] {
  const { of } = measures[measure];
  const most = Math.max(...rows.map(of), 1e-12);
  return [
    groupColumn(groupBy, ({ group, name }) => ({ id: group, name })),
    ...(splitBy === undefined
      ? []
      : [groupColumn(splitBy, ({ split, split_name }) => ({ id: split ?? '', name: split_name }))]),
    {
      head: 'Requests',
      from: splitBy === undefined ? undefined : 'sm',
      align: 'right',
      cell: ({ requests }) => <Count value={requests} />,
    },
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
      from: splitBy === undefined ? 'xl' : '2xl',
      align: 'right',
      cell: ({ estimated_cost_usd }) => (estimated_cost_usd === 0 ? <None /> : <Money value={estimated_cost_usd} />),
    },
    {
      head: 'Compared',
      kind: 'picture',
      from: splitBy === undefined ? 'lg' : '2xl',
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

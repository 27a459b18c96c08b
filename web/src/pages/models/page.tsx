import { useQuery } from '@tanstack/react-query';
import { Boxes } from 'lucide-react';
import { useCallback } from 'react';
import type { ModelReply } from '../../../../src/admin/entries/models.ts';
import { models } from '../../api/entries.ts';
import { type Listed, usePages } from '../../api/pages.ts';
import { get } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { SearchInput } from '../../parts/controls.tsx';
import { Empty } from '../../parts/empty.tsx';
import { None } from '../../parts/figures.tsx';
import { useFilters } from '../../parts/filters.ts';
import { exactUsd } from '../../parts/format.ts';
import { useAdding } from '../../parts/forms/add-dialog.tsx';
import { FilterSelect } from '../../parts/forms/suggest-input.tsx';
import { Page } from '../../parts/page.tsx';
import { healthTones, Status } from '../../parts/status.tsx';
import { Source } from '../../parts/stored/stored-entry.tsx';
import { type Column, NameCell, PagedTable } from '../../parts/tables/table.tsx';
import { modelTypes } from './model-draft.ts';
import { ModelForm } from './model-form.tsx';

const columns: readonly Column<ModelReply>[] = [
  {
    head: 'Model',
    value: ({ id }) => id,
    cell: ({ id, targets }) => <NameCell name={id}>{targets.map(({ target }) => target).join(', ')}</NameCell>,
  },
  { head: 'Type', from: 'sm', cell: ({ type }) => type },
  { head: 'State', cell: ({ status }) => <Status tone={healthTones[status]}>{status}</Status> },
  { head: 'Source', from: 'md', cell: (model) => <Source of={model} />, value: ({ source }) => source },
  { head: 'Tier', from: 'lg', cell: ({ tier }) => tier ?? <None /> },
  {
    head: 'USD per 1M tokens, in / out',
    value: ({ targets }) => targets[0]?.price?.input ?? null,
    from: 'lg',
    align: 'right',
    cell({ targets }) {
      const price = targets[0]?.price;
      return price == null ? <None /> : `${exactUsd(price.input)} / ${exactUsd(price.output)}`;
    },
  },
];

/** Names for callers, and their targets. */
export default function ModelsPage() {
  const [filters, setFilters] = useFilters<'text' | 'type' | 'provider'>();
  const { text, type, provider } = filters;
  const pages = usePages<ModelReply>(models.path, { text, type, provider }, { everyMs: 10_000, inUrl: true });
  const onText = useCallback((value: string) => setFilters({ text: value }), [setFilters]);
  const some = text !== undefined || type !== undefined || provider !== undefined;
  const { add, dialog } = useAdding({
    area: 'models',
    label: 'Add model',
    title: 'Add a model',
    description: 'A model has a name that callers use, and targets that answer.',
    place: 'side',
    form: (done) => <ModelForm model={null} onDone={done} />,
  });
  return (
    <Page
      title="Models"
      actions={add}
      bar={
        <>
          <SearchInput label="Model or target" value={text ?? ''} onValue={onText} className="w-full sm:w-64" />
          <FilterSelect
            label="Type"
            value={type}
            onValue={(value) => setFilters({ type: value })}
            options={modelTypes}
          />
          <ProviderFilter value={provider} onValue={(value) => setFilters({ provider: value })} />
        </>
      }
    >
      <PagedTable
        label="Models"
        pages={pages}
        columns={columns}
        keyOf={({ id }) => id}
        to={({ id }) => `/dashboard/models/${encodeURIComponent(id)}`}
        empty={
          <Empty
            icon={<Boxes />}
            title={some ? 'No model matches these filters.' : 'There are no models yet.'}
            action={!some && add}
          >
            {some ? 'Remove a filter to see more.' : 'Add a provider first. Its models appear here.'}
          </Empty>
        }
      />
      {dialog}
    </Page>
  );
}

function ProviderFilter({ value, onValue }: { value: string | undefined; onValue: (value: string) => void }) {
  const may = useMay('providers', 'read');
  const { data } = useQuery({
    enabled: may,
    queryKey: ['/admin/v1/providers', 'names'],
    queryFn: ({ signal }) =>
      get<Listed<{ name: string; serves: string }>>('/admin/v1/providers', { limit: 500 }, signal),
    staleTime: 60_000,
  });
  const names = (data?.data ?? []).filter(({ serves }) => serves === 'models').map(({ name }) => name);
  if (!may) return null;
  const options = [...new Set(value === undefined ? names : [...names, value])];
  return <FilterSelect label="Provider" value={value} onValue={onValue} options={options} />;
}

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type Model, modelsQuery, useCaller } from '../../api/caller.ts';
import { SearchInput } from '../../parts/controls.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Count, None } from '../../parts/figures.tsx';
import { useFilters } from '../../parts/filters.ts';
import { exactUsd } from '../../parts/format.ts';
import { Page } from '../../parts/page.tsx';
import { Badge, healthTones, Status } from '../../parts/status.tsx';
import { type Column, Table } from '../../parts/tables/table.tsx';

const columns: Column<Model>[] = [
  { head: 'Model', cell: ({ id }) => <span className="font-medium [overflow-wrap:anywhere]">{id}</span> },
  { head: 'Type', cell: ({ model_type }) => model_type },
  {
    head: 'Capabilities',
    value: ({ capabilities }) =>
      ['vision', 'tools', 'reasoning'].filter((name) => capabilities[name as 'vision']).join(' '),
    from: 'md',
    cell: ({ capabilities }) => (
      <span className="flex flex-wrap gap-1">
        {(['vision', 'tools', 'reasoning'] as const)
          .filter((name) => capabilities[name])
          .map((name) => (
            <Badge key={name}>{name}</Badge>
          ))}
      </span>
    ),
  },
  { head: 'Context', align: 'right', from: 'lg', cell: ({ context_window }) => <Count value={context_window} /> },
  {
    head: 'USD per 1M tokens, in / out',
    value: ({ pricing }) => pricing?.input ?? null,
    align: 'right',
    from: 'sm',
    cell: ({ pricing }) => (pricing === null ? <None /> : `${exactUsd(pricing.input)} / ${exactUsd(pricing.output)}`),
  },
  { head: 'State', cell: ({ status }) => <Status tone={healthTones[status]}>{status}</Status> },
];

/** Models that the key may use. */
export default function MemberModelsPage() {
  const [{ text = '' }, setFilters] = useFilters<'text'>();
  const { caller } = useCaller();
  const { data, error, refetch } = useQuery(modelsQuery(caller));
  const rows = data?.filter(({ id, model_type }) => `${id} ${model_type}`.toLowerCase().includes(text.toLowerCase()));
  return (
    <Page
      title="Models"
      bar={
        <SearchInput
          className="w-full sm:w-64"
          label="Find a model"
          value={text}
          onValue={(value) => setFilters({ text: value })}
        />
      }
    >
      <Table
        label="Models"
        columns={columns}
        rows={rows}
        keyOf={({ id }) => id}
        error={error}
        retry={() => void refetch()}
        empty={
          <Empty title={text === '' ? 'This key may not use any model.' : 'No model matches.'}>
            The person who gave you the key can change which models it may use.
          </Empty>
        }
      />
      <p className="text-muted text-sm">
        Try one in the{' '}
        <Link to="/account/playground" className="underline underline-offset-2">
          playground
        </Link>
        .
      </p>
    </Page>
  );
}

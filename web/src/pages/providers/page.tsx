import { Plug } from 'lucide-react';
import { useCallback } from 'react';
import type { ProviderReply } from '../../../../src/admin/entries/provider-shown.ts';
import { providers } from '../../api/entries.ts';
import { usePages } from '../../api/pages.ts';
import { SearchInput } from '../../parts/controls.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Count, None, Span } from '../../parts/figures.tsx';
import { useFilters } from '../../parts/filters.ts';
import { count, percent } from '../../parts/format.ts';
import { useAdding } from '../../parts/forms/add-dialog.tsx';
import { Page } from '../../parts/page.tsx';
import { ProviderMark } from '../../parts/provider-mark.tsx';
import { healthTones, Status } from '../../parts/status.tsx';
import { Source } from '../../parts/stored/stored-entry.tsx';
import { type Column, NameCell, PagedTable } from '../../parts/tables/table.tsx';
import { Attempts } from '../attempts/attempts.tsx';
import { AddProvider } from './add-provider.tsx';

const columns: readonly Column<ProviderReply>[] = [
  {
    head: 'Provider',
    value: ({ name }) => name,
    cell: ({ name, type, base_url }) => (
      <span className="flex items-center gap-2.5">
        <ProviderMark type={type} />
        <NameCell name={name}>{base_url || type}</NameCell>
      </span>
    ),
  },
  { head: 'State', cell: ({ status }) => <Status tone={healthTones[status]}>{status}</Status> },
  { head: 'Source', from: 'sm', cell: (provider) => <Source of={provider} />, value: ({ source }) => source },
  { head: 'Models', from: 'md', align: 'right', cell: ({ models }) => <Count value={models} /> },
  { head: 'Credentials', from: 'md', align: 'right', cell: ({ credentials }) => <Count value={credentials.length} /> },
  { head: 'In flight', from: 'lg', align: 'right', cell: (provider) => <Count value={sumOf(provider, 'in_flight')} /> },
  { head: 'First token', from: 'lg', align: 'right', cell: (provider) => <Span ms={firstTokenOf(provider)} /> },
  {
    head: 'Failed, last minute',
    value: (provider) => sumOf(provider, 'failed'),
    from: 'xl',
    align: 'right',
    cell(provider) {
      const failed = sumOf(provider, 'failed');
      const all = failed + sumOf(provider, 'succeeded');
      return all === 0 ? <None /> : <span title={percent(failed / all)}>{`${count(failed)} of ${count(all)}`}</span>;
    },
  },
];

/** Upstream services, as they do right now. */
export default function ProvidersPage() {
  const [{ text }, setFilters] = useFilters<'text'>();
  const onText = useCallback((value: string) => setFilters({ text: value }), [setFilters]);
  const pages = usePages<ProviderReply>(providers.path, { text }, { everyMs: 5_000, inUrl: true });
  const { add, dialog } = useAdding({
    area: 'providers',
    label: 'Add provider',
    title: 'Add a provider',
    description: 'Culvert tests the key before it saves anything. It encrypts the key and never shows it again.',
    form: (done) => <AddProvider onAdded={done} />,
  });
  return (
    <Page
      title="Providers"
      actions={add}
      bar={<SearchInput label="Name, type or address" value={text ?? ''} onValue={onText} className="w-full sm:w-64" />}
    >
      <PagedTable
        label="Providers"
        pages={pages}
        columns={columns}
        keyOf={({ name }) => name}
        to={({ name }) => `/dashboard/providers/${encodeURIComponent(name)}`}
        empty={
          text !== undefined ? (
            <Empty icon={<Plug />} title="No provider matches." />
          ) : (
            <Empty icon={<Plug />} title="There are no providers yet." action={add}>
              A provider answers requests: a service with an API key, or your own model server.
            </Empty>
          )
        }
      />
      <Attempts groups={['provider', 'target', 'credential', 'class']} />
      {dialog}
    </Page>
  );
}

type Lane = ProviderReply['credentials'][number]['lanes'][number];

function lanesOf({ credentials }: ProviderReply): Lane[] {
  return credentials.flatMap(({ lanes }) => lanes);
}

function sumOf(provider: ProviderReply, figure: 'in_flight' | 'failed' | 'succeeded'): number {
  return lanesOf(provider).reduce((sum, lane) => sum + lane[figure], 0);
}

/** Median of its models. */
function firstTokenOf(provider: ProviderReply): number | null {
  const known = lanesOf(provider)
    .flatMap(({ first_token_ms }) => first_token_ms ?? [])
    .sort((a, b) => a - b);
  return known[Math.floor(known.length / 2)] ?? null;
}

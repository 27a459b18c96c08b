import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Boxes, Plus } from 'lucide-react';
import { useState } from 'react';
import { type Caller, useCaller } from '../../api/caller.ts';
import { Button } from '../../parts/button.tsx';
import { SearchInput } from '../../parts/controls.tsx';
import { Empty } from '../../parts/empty.tsx';
import { useFilters } from '../../parts/filters.ts';
import { plural } from '../../parts/format.ts';
import { Back, Page } from '../../parts/page.tsx';
import { AsCaller, SpeaksAs } from '../../parts/speaks-as.tsx';
import { type Column, Table } from '../../parts/tables/table.tsx';
import { CollectionView } from './collection-view.tsx';
import { NewCollection } from './new-collection.tsx';
import { type Collection, collectionsKey, vectorKindsOf, vectors } from './vectors-api.ts';

/** Filters of one collection. */
const ofCollection = ['collection', 'tab', 'text', 'using', 'where', 'point', 'colour'];

/** Collections of a key, and one of them. */
export default function VectorsPage() {
  const [{ collection, tab }, setFilters] = useFilters<'collection' | 'key' | 'tab'>();
  const callers = useCaller(ofCollection);
  const { caller } = callers;
  const open = (name: string) => setFilters({ collection: name, key: caller!.key.id });
  return (
    <Page
      title={collection ?? 'Vectors'}
      opened={collection !== undefined && tab === 'map' ? 'Map' : undefined}
      before={
        collection !== undefined && <Back to="/dashboard/vectors" search={{ key: caller?.key.id }} label="Vectors" />
      }
      actions={<SpeaksAs {...callers} />}
    >
      <AsCaller {...callers}>
        {(caller) =>
          collection === undefined ? (
            <Collections key={caller.key.id} caller={caller} onMade={open} />
          ) : (
            <CollectionView key={`${caller.key.id} ${collection}`} caller={caller} name={collection} />
          )
        }
      </AsCaller>
    </Page>
  );
}

function Collections({ caller, onMade }: { caller: Caller; onMade: (name: string) => void }) {
  const [{ name: chosenName = '' }, setFilters] = useFilters<'name'>();
  const [making, setMaking] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: [collectionsKey, caller.key.id],
    queryFn: async ({ signal }) =>
      (await vectors<{ collections: Collection[] }>(caller, 'GET', '/collections', undefined, signal)).collections,
  });
  const columns: Column<Collection>[] = [
    {
      head: 'Collection',
      className: '[overflow-wrap:anywhere]',
      cell: ({ name }) => (
        <Link
          to="/dashboard/vectors"
          search={{ collection: name, key: caller.key.id } as never}
          className="font-medium underline underline-offset-2"
        >
          {name}
        </Link>
      ),
    },
    {
      head: 'Embedding model',
      from: 'sm',
      cell: (collection) => listOf(vectorKindsOf(collection).map(({ model }) => model)) || 'your own vectors',
    },
    {
      head: 'Vectors',
      cell(collection) {
        const kinds = vectorKindsOf(collection);
        return kinds.map(({ name, size }) => name || (size === null ? 'sparse' : plural(size, 'dimension'))).join(', ');
      },
    },
    {
      head: 'Distance',
      from: 'md',
      cell: (collection) => listOf(vectorKindsOf(collection).map(({ distance }) => distance)),
    },
  ];
  const make = (
    <Button look="main" icon={<Plus className="size-4" aria-hidden />} onClick={() => setMaking(true)}>
      New collection
    </Button>
  );
  const some = data !== undefined && data.length > 0;
  return (
    <>
      {some && (
        <div className="flex flex-wrap items-center justify-between gap-2">
          <SearchInput
            label="Find by name"
            value={chosenName}
            onValue={(value) => setFilters({ name: value })}
            className="w-full sm:w-64"
          />
          {make}
        </div>
      )}
      <Table
        label="Collections"
        columns={columns}
        rows={data?.filter(({ name }) => name.toLowerCase().includes(chosenName.toLowerCase()))}
        keyOf={({ name }) => name}
        error={error}
        retry={() => void refetch()}
        empty={
          some ? (
            <Empty title="No collection matches." />
          ) : (
            <Empty icon={<Boxes />} title="This key has no collections yet." action={make}>
              A collection stores texts as vectors and finds them by meaning or by their words.
            </Empty>
          )
        }
      />
      {making && <NewCollection caller={caller} onClose={() => setMaking(false)} onMade={onMade} />}
    </>
  );
}

/** Each once. */
function listOf(names: readonly (string | null)[]): string {
  return [...new Set(names.filter((name) => name !== null))].join(', ');
}

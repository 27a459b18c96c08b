import { useQuery } from '@tanstack/react-query';
import { Boxes, ChevronLeft, Plus } from 'lucide-react';
import { useState } from 'react';
import { type Caller, useCaller } from '../../api/caller.ts';
import { Button } from '../../parts/button.tsx';
import { Empty } from '../../parts/empty.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Page } from '../../parts/page.tsx';
import { SkeletonRows } from '../../parts/skeleton.tsx';
import { NoKey, SpeaksAs } from '../../parts/speaks-as.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { CollectionView } from './collection-view.tsx';
import { NewCollection } from './new-collection.tsx';
import { type Collection, vectors } from './vectors-api.ts';

/** Collections of a key, and one of them. */
export default function VectorsPage() {
  const [{ collection }, setFilters] = useFilters<'collection' | 'tab'>();
  const callers = useCaller();
  const { caller } = callers;
  return (
    <Page
      title={collection ?? 'Vectors'}
      before={
        collection !== undefined && (
          <Button look="quiet" className="-ml-3 px-2" onClick={() => setFilters({ collection: '', tab: '' })}>
            <ChevronLeft className="size-4" aria-hidden /> Vectors
          </Button>
        )
      }
      actions={<SpeaksAs {...callers} />}
    >
      {callers.error !== null && <ErrorNote error={callers.error} />}
      {caller === undefined && callers.error === null && <SkeletonRows />}
      {caller === null && <NoKey />}
      {caller != null &&
        (collection === undefined ? (
          <Collections key={caller.key.id} caller={caller} onOpen={(name) => setFilters({ collection: name })} />
        ) : (
          <CollectionView key={`${caller.key.id} ${collection}`} caller={caller} name={collection} />
        ))}
    </Page>
  );
}

function Collections({ caller, onOpen }: { caller: Caller; onOpen: (name: string) => void }) {
  const [making, setMaking] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: ['/v1/vectors/collections', caller.key.id],
    queryFn: async ({ signal }) =>
      (await vectors<{ collections: Collection[] }>(caller, 'GET', '/collections', undefined, signal)).collections,
  });
  const columns: Column<Collection>[] = [
    {
      head: 'Collection',
      cell: ({ name }) => (
        <button type="button" onClick={() => onOpen(name)} className="font-medium underline underline-offset-2">
          {name}
        </button>
      ),
    },
    { head: 'Texts embedded by', from: 'sm', cell: ({ embedding_model }) => embedding_model ?? 'the caller' },
    { head: 'Numbers', align: 'right', cell: ({ vector_size }) => vector_size },
    { head: 'Distance', from: 'sm', cell: ({ distance }) => distance },
  ];
  const make = (
    <Button look="main" icon={<Plus className="size-4" aria-hidden />} onClick={() => setMaking(true)}>
      New collection
    </Button>
  );
  return (
    <>
      {data !== undefined && data.length > 0 && <div className="flex justify-end">{make}</div>}
      <Table
        label="Collections"
        columns={columns}
        rows={data}
        keyOf={({ name }) => name}
        error={error}
        retry={() => void refetch()}
        empty={
          <Empty icon={<Boxes />} title="This key has no collections yet." action={make}>
            A collection keeps texts as vectors, and finds them by meaning or by words.
          </Empty>
        }
      />
      {making && <NewCollection caller={caller} onClose={() => setMaking(false)} onMade={onOpen} />}
    </>
  );
}

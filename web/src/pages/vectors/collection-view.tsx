import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Boxes, Plus, Trash2 } from 'lucide-react';
import { Suspense, useState } from 'react';
import type { Caller } from '../../api/caller.ts';
import { Button, buttonClass } from '../../parts/button.tsx';
import { SearchInput, Select } from '../../parts/controls.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { Empty } from '../../parts/empty.tsx';
import { isMissing } from '../../parts/error-note.tsx';
import { useFilters } from '../../parts/filters.ts';
import { plural } from '../../parts/format.ts';
import { lazyPart } from '../../parts/lazy-part.ts';
import { Read } from '../../parts/read.tsx';
import { Skeleton } from '../../parts/skeleton.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { toast } from '../../parts/toast.tsx';
import { AddPoints } from './add-points.tsx';
import { type Condition, conditionsIn, filterOf, textOf } from './conditions.ts';
import { FilterBar } from './filter-bar.tsx';
import { PointDialog } from './point-dialog.tsx';
import { PointsTable } from './points-table.tsx';
import {
  type CollectionInfo,
  collectionPath,
  collectionsKey,
  type VectorKind,
  vectorKindsOf,
  vectors,
} from './vectors-api.ts';

const Projection = lazyPart(() => import('./projection.tsx'));

/** Longer than an address may be, as vectors are of many numbers: it is looked for, and not kept there. */
const addressCharsMax = 2_000;

/** One collection: its points, found by text or vector and by their payload, and a map of them. */
export function CollectionView({ caller, name }: { caller: Caller; name: string }) {
  const path = collectionPath(name);
  const query = useQuery({
    queryKey: [collectionsKey, caller.key.id, name],
    queryFn: ({ signal }) => vectors<CollectionInfo>(caller, 'GET', path, undefined, signal),
  });
  if (isMissing(query.error)) return <NoCollection caller={caller} name={name} />;
  return <Read query={query}>{(collection) => <Shown caller={caller} path={path} collection={collection} />}</Read>;
}

/** It was deleted, belongs to another key, or the address is misspelled. */
function NoCollection({ caller, name }: { caller: Caller; name: string }) {
  const list = (
    <Link to="/dashboard/vectors" search={{ key: caller.key.id } as never} className={buttonClass('plain')}>
      All collections
    </Link>
  );
  return (
    <Empty icon={<Boxes />} title={`There is no collection ${name}.`} action={list}>
      It may have been deleted, or it may belong to another key.
    </Empty>
  );
}

function Shown({ caller, path, collection }: { caller: Caller; path: string; collection: CollectionInfo }) {
  const [filters, setFilters] = useFilters<'tab' | 'text' | 'using' | 'where' | 'point'>();
  const { tab = 'points', where, point } = filters;
  const [long, setLong] = useState('');
  const [adding, setAdding] = useState(false);
  const { name, points_count } = collection;
  const kinds = vectorKindsOf(collection);
  const compared = kinds.filter(({ form }) => form === 'dense');
  const using = compared.find((kind) => kind.name === filters.using) ?? compared[0];
  const text = long || (filters.text ?? '');
  const conditions = conditionsIn(where);
  const filter = filterOf(conditions);
  const change = (next: readonly Condition[]) => setFilters({ where: textOf(next) });
  const bar = <FilterBar caller={caller} name={name} conditions={conditions} onChange={change} />;
  const look = (id: string) => {
    setLong(id.length > addressCharsMax ? id : '');
    setFilters({ text: id.length > addressCharsMax ? '' : id });
  };
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <p className="w-full text-muted text-sm [overflow-wrap:anywhere] sm:w-auto sm:flex-1">
          {plural(points_count, 'point')}; {kinds.map(factsOf).join('; ')}
        </p>
        <DeleteCollection caller={caller} path={path} name={name} points={points_count} />
        <Button look="main" icon={<Plus className="size-4" aria-hidden />} onClick={() => setAdding(true)}>
          Add
        </Button>
      </div>
      <Compared
        kinds={kinds}
        compared={compared}
        using={using?.name ?? ''}
        onUsing={(next) => setFilters({ using: next })}
      />
      <Tabs
        label="Collection"
        value={tab === 'map' ? 'map' : 'points'}
        onValue={(value) => setFilters({ tab: value === 'points' ? '' : value })}
        tabs={[
          {
            value: 'points',
            label: 'Points',
            content: () => (
              <>
                {using !== undefined && (
                  <SearchInput
                    className="w-full max-w-xl"
                    label={
                      using.model === null
                        ? 'Search by a vector, such as [0.1, 0.2]'
                        : 'Search by text, or by a vector such as [0.1, 0.2]'
                    }
                    value={text}
                    onValue={look}
                  />
                )}
                {long !== '' && (
                  <p className="text-muted text-sm">
                    This search is too long for the address, so a shared link does not contain it.
                  </p>
                )}
                {bar}
                <PointsTable
                  caller={caller}
                  path={path}
                  text={using === undefined ? '' : text}
                  using={using?.name ?? ''}
                  filter={filter}
                  onOpen={(id) => setFilters({ point: String(id) })}
                  onCondition={(condition) =>
                    change([...conditions.filter((one) => !isSame(one, condition)), condition])
                  }
                />
              </>
            ),
          },
          {
            value: 'map',
            label: 'Map',
            content: () => (
              <>
                {bar}
                <Suspense fallback={<Skeleton className="h-96" />}>
                  <Projection
                    caller={caller}
                    path={path}
                    using={using?.name ?? null}
                    filter={filter}
                    onOpen={(id) => setFilters({ point: String(id) })}
                  />
                </Suspense>
              </>
            ),
          },
        ]}
      />
      {adding && <AddPoints caller={caller} name={name} path={path} onClose={() => setAdding(false)} />}
      {point !== undefined && (
        <PointDialog
          key={point}
          caller={caller}
          path={path}
          kinds={kinds}
          id={point}
          onClose={() => setFilters({ point: '' })}
        />
      )}
    </>
  );
}

function isSame(a: Condition, b: Condition): boolean {
  return a.key === b.key && a.value === b.value;
}

/** `title: 384 dimensions, Cosine, embedded by embed`. */
function factsOf({ name, form, size, distance, model }: VectorKind): string {
  const facts = [
    form === 'sparse' ? 'sparse' : plural(size!, 'dimension'),
    form === 'multivector' && 'a multivector',
    distance,
    model === null ? name === '' && 'your own vectors' : `embedded by ${model}`,
  ];
  return `${name === '' ? '' : `${name}: `}${facts.filter(Boolean).join(', ')}`;
}

interface ComparedProps {
  kinds: readonly VectorKind[];
  /** Vectors that a search and the map can compare. */
  compared: readonly VectorKind[];
  using: string;
  onUsing: (name: string) => void;
}

/** The compared vector when there are several, and the others. */
function Compared({ kinds, compared, using, onUsing }: ComparedProps) {
  const out = kinds.filter((kind) => !compared.includes(kind));
  if (kinds.length < 2 && out.length === 0) return null;
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2 text-muted text-sm">
      {compared.length > 1 && (
        <span className="inline-flex items-center gap-2">
          Vector
          <Select
            aria-label="Vector"
            className="w-auto max-w-48 text-ink"
            value={using}
            onChange={(event) => onUsing(event.target.value)}
          >
            {compared.map(({ name }) => (
              <option key={name} value={name}>
                {name || 'unnamed'}
              </option>
            ))}
          </Select>
        </span>
      )}
      {out.length > 0 && (
        <span>
          {out.map(({ name, form }) => `${name || 'The unnamed vector'} (${form})`).join(', ')}{' '}
          {out.length === 1 ? 'is' : 'are'} searched only through the API.
        </span>
      )}
    </div>
  );
}

interface DeleteCollectionProps {
  caller: Caller;
  path: string;
  name: string;
  points: number;
}

function DeleteCollection({ caller, path, name, points }: DeleteCollectionProps) {
  const [open, setOpen] = useState(false);
  const client = useQueryClient();
  const navigate = useNavigate();
  return (
    <>
      <Button look="danger" icon={<Trash2 className="size-4" aria-hidden />} onClick={() => setOpen(true)}>
        Delete collection
      </Button>
      <Confirm
        open={open}
        onClose={() => setOpen(false)}
        title={`Delete the collection ${name}?`}
        action="Delete collection"
        onConfirm={async () => {
          await vectors(caller, 'DELETE', path);
          toast(`The collection ${name} was deleted.`);
          await navigate({ to: '/dashboard/vectors', search: { key: caller.key.id } as never, replace: true });
          await client.invalidateQueries({ queryKey: [collectionsKey, caller.key.id] });
        }}
      >
        This deletes its {plural(points, 'point')} and its aliases. You cannot undo it. Programs that use it then get a
        404.
      </Confirm>
    </>
  );
}

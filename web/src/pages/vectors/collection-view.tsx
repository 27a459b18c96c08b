import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Plus, X } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import type { Caller } from '../../api/caller.ts';
import { Button } from '../../parts/button.tsx';
import { SearchInput } from '../../parts/controls.tsx';
import { Empty } from '../../parts/empty.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { useFilters } from '../../parts/filters.ts';
import { count, plural } from '../../parts/format.ts';
import { Skeleton, SkeletonRows } from '../../parts/skeleton.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { AddPoints } from './add-points.tsx';
import { PointCard } from './point-card.tsx';
import { type Collection, type Condition, collectionPath, filterOf, type Point, vectors } from './vectors-api.ts';

const Projection = lazy(() => import('./projection.tsx'));

/** Points of one answer. */
const shownMax = 30;

/** One collection: its points, found by text or vector and by what their payload holds, and a map of them. */
export function CollectionView({ caller, name }: { caller: Caller; name: string }) {
  const [{ tab = 'points', text = '' }, setFilters] = useFilters<'tab' | 'text'>();
  const [conditions, setConditions] = useState<readonly Condition[]>([]);
  const [adding, setAdding] = useState(false);
  const path = collectionPath(name);
  const about = useQuery({
    queryKey: ['/v1/vectors/collections', caller.key.id, name],
    queryFn: ({ signal }) => vectors<Collection & { points_count: number }>(caller, 'GET', path, undefined, signal),
  });
  const filter = filterOf(conditions);
  const found = useQuery({
    queryKey: ['/v1/vectors/collections', caller.key.id, name, 'points', text, filter],
    queryFn: ({ signal }) => pointsOf(caller, path, { text, filter }, signal),
    placeholderData: keepPreviousData,
  });
  const toggle = (condition: Condition) =>
    setConditions((before) => [
      ...before.filter(({ key, value }) => key !== condition.key || value !== condition.value),
      condition,
    ]);
  const { data } = about;
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <span className="min-w-0 flex-1 text-muted text-sm">
          {data !== undefined &&
            `${plural(data.points_count, 'point')}, ${count(data.vector_size)} numbers each, ${data.distance}, ${data.embedding_model ?? 'vectors of the caller'}`}
        </span>
        <Button look="main" icon={<Plus className="size-4" aria-hidden />} onClick={() => setAdding(true)}>
          Add
        </Button>
      </div>
      {about.error !== null && <ErrorNote error={about.error} retry={() => void about.refetch()} />}
      <Tabs
        label="Collection"
        value={tab}
        onValue={(value) => setFilters({ tab: value })}
        tabs={[
          {
            value: 'points',
            label: 'Points',
            content: () => (
              <>
                <SearchInput
                  className="w-full max-w-xl"
                  label="Find by text, or by a vector such as [0.1, 0.2]"
                  value={text}
                  onValue={(value) => setFilters({ text: value })}
                />
                <Chosen conditions={conditions} onChange={setConditions} />
                {found.error !== null && <ErrorNote error={found.error} retry={() => void found.refetch()} />}
                {found.data === undefined && found.error === null && <SkeletonRows />}
                {found.data?.length === 0 && (
                  <Empty title={text === '' && filter === undefined ? 'No points yet.' : 'No point is like that.'}>
                    Add texts, one a line, or points as JSON.
                  </Empty>
                )}
                <ul className="flex flex-col gap-2" aria-label="Points">
                  {found.data?.map((point) => (
                    <li key={String(point.id)}>
                      <PointCard point={point} onCondition={toggle} />
                    </li>
                  ))}
                </ul>
              </>
            ),
          },
          {
            value: 'map',
            label: 'Map',
            content: () => (
              <Suspense fallback={<Skeleton className="h-96" />}>
                <Projection caller={caller} path={path} />
              </Suspense>
            ),
          },
        ]}
      />
      {adding && <AddPoints caller={caller} name={name} path={path} onClose={() => setAdding(false)} />}
    </>
  );
}

async function pointsOf(
  caller: Caller,
  path: string,
  { text, filter }: { text: string; filter: object | undefined },
  signal: AbortSignal,
): Promise<Point[]> {
  const shared = { limit: shownMax, with_payload: true, ...(filter !== undefined && { filter }) };
  if (text === '') {
    return (await vectors<{ points: Point[] }>(caller, 'POST', `${path}/points/scroll`, shared, signal)).points;
  }
  const asked = text.startsWith('[') ? { vector: numbersOf(text) } : { text };
  return vectors<Point[]>(caller, 'POST', `${path}/points/search`, { ...shared, ...asked }, signal);
}

function numbersOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('This is no vector: expected numbers between brackets, such as [0.1, 0.2].');
  }
}

interface ChosenProps {
  conditions: readonly Condition[];
  onChange: (conditions: readonly Condition[]) => void;
}

function Chosen({ conditions, onChange }: ChosenProps) {
  if (conditions.length === 0) return null;
  return (
    <ul className="flex flex-wrap items-center gap-1.5" aria-label="Filters">
      {conditions.map((condition) => (
        <li
          key={`${condition.key} ${condition.value}`}
          className="inline-flex h-7 max-w-full items-center rounded-md border border-line-strong bg-panel text-sm"
        >
          <button
            type="button"
            title="Turn it round"
            className="min-w-0 truncate px-2"
            onClick={() => onChange(conditions.map((one) => (one === condition ? { ...one, not: !one.not } : one)))}
          >
            {condition.key} {condition.not ? 'is not' : 'is'}{' '}
            <span className="font-medium">{String(condition.value)}</span>
          </button>
          <button
            type="button"
            aria-label={`Remove the filter of ${condition.key}`}
            className="flex h-full items-center px-1.5 text-muted hover:text-ink"
            onClick={() => onChange(conditions.filter((one) => one !== condition))}
          >
            <X className="size-3.5" aria-hidden />
          </button>
        </li>
      ))}
    </ul>
  );
}

import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import type { Caller } from '../../api/caller.ts';
import { Select } from '../../parts/controls.tsx';
import { Empty } from '../../parts/empty.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { useFilters } from '../../parts/filters.ts';
import { plural } from '../../parts/format.ts';
import { Section } from '../../parts/page.tsx';
import { Skeleton } from '../../parts/skeleton.tsx';
import { flatten } from './flatten.ts';
import { isLongText, shownValue, valuesIn } from './payload-values.ts';
import { collectionsKey, type Point, vectors } from './vectors-api.ts';

/** Points of the sample. */
const sampleMax = 300;
/** Values with a separate colour; all others are drawn alike. */
const coloursMax = 6;

interface ProjectionProps {
  caller: Caller;
  /** Path of the collection. */
  path: string;
  /** The vector that is drawn; '' has no name, and null says that there is none that could be. */
  using: string | null;
  filter: object | undefined;
  onOpen: (id: Point['id']) => void;
}

/** A sample of the points on two axes, coloured by a field of their payload. */
export default function Projection({ caller, path, using, filter, onOpen }: ProjectionProps) {
  const [{ colour: field = '' }, setFilters] = useFilters<'colour'>();
  const [at, setAt] = useState<number | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: [collectionsKey, caller.key.id, path, 'sample', using, filter ?? null],
    queryFn: async ({ signal }) => {
      const body = {
        query: { sample: 'random' },
        limit: sampleMax,
        with_payload: true,
        with_vector: [using],
        ...(filter !== undefined && { filter }),
      };
      return (await vectors<{ points: Point[] }>(caller, 'POST', `${path}/points/query`, body, signal)).points;
    },
    staleTime: Number.POSITIVE_INFINITY,
    enabled: using !== null,
  });
  const points = useMemo(() => data?.filter((point) => numbersOf(point, using) !== undefined), [data, using]);
  const places = useMemo(() => flatten((points ?? []).map((point) => numbersOf(point, using)!)), [points, using]);
  if (using === null) return <Empty title="This collection has no vector that can be drawn." />;
  if (error !== null) return <ErrorNote error={error} retry={() => void refetch()} />;
  if (points === undefined) return <Skeleton className="h-96" />;
  if (points.length < 3)
    return <Empty title="There are too few points for a map.">A map needs at least three points.</Empty>;
  const fields = new Set(
    points.flatMap(({ payload }) =>
      valuesIn(payload ?? {})
        .filter((one) => !isLongText(one.value))
        .map((one) => one.name),
    ),
  );
  const values = valuesOf(points, field);
  const shown = at === null ? undefined : points[at];
  return (
    <Section
      title={plural(points.length, 'point')}
      actions={
        <Select
          aria-label="Colour by"
          className="w-40"
          value={field}
          onChange={(event) => setFilters({ colour: event.target.value })}
        >
          <option value="">One colour</option>
          {[...fields].toSorted().map((one) => (
            <option key={one}>{one}</option>
          ))}
        </Select>
      }
    >
      <div className="grid grid-cols-1 items-start gap-4 lg:grid-cols-[minmax(0,32rem)_minmax(0,1fr)]">
        <svg viewBox="-1.06 -1.06 2.12 2.12" role="img" aria-label="Map of the points" className="w-full">
          {points.map((point, place) => (
            // biome-ignore lint/a11y/noStaticElementInteractions: the list of points has the same by keyboard.
            <circle
              key={String(point.id)}
              cx={places[place]!.x}
              cy={-places[place]!.y}
              r={at === place ? 0.034 : 0.022}
              fill={field === '' ? colour(0) : colour(values.indexOf(heldBy(point, field)))}
              fillOpacity={0.75}
              className="cursor-pointer"
              onMouseEnter={() => setAt(place)}
              onClick={() => onOpen(point.id)}
            />
          ))}
        </svg>
        <div className="flex flex-col gap-3">
          {values.length > 0 && (
            <ul className="flex flex-wrap gap-x-4 gap-y-1 text-muted text-xs" aria-label="Colours">
              {values.map((value, place) => (
                <li key={value} className="inline-flex max-w-full items-center gap-1.5">
                  <span className="size-2 shrink-0 rounded-full" style={{ background: colour(place) }} aria-hidden />
                  <span className="truncate">{value}</span>
                </li>
              ))}
            </ul>
          )}
          <p className="min-h-10 text-sm [overflow-wrap:anywhere]">
            {shown === undefined ? (
              <span className="text-muted">
                Similar points lie close together, along the two axes on which they differ most. Point at one to read
                it, and click to open it.
              </span>
            ) : (
              textOf(shown)
            )}
          </p>
        </div>
      </div>
    </Section>
  );
}

/** An unnamed vector is alone, or among those with names. */
function numbersOf({ vector }: Point, using: string | null): number[] | undefined {
  const found = Array.isArray(vector) ? vector : (vector as Record<string, unknown> | undefined)?.[using ?? ''];
  return Array.isArray(found) ? (found as number[]) : undefined;
}

function colour(place: number): string {
  return place < 0 ? 'var(--faint)' : `var(--series-${place + 1})`;
}

/** The first where a field has several; '' for none. */
function heldBy({ payload }: Point, field: string): string {
  const held = valuesIn(payload ?? {}).find(({ name }) => name === field);
  return held === undefined ? '' : shownValue(held.value);
}

/** The most frequent first. */
function valuesOf(points: readonly Point[], field: string): string[] {
  if (field === '') return [];
  const counts = new Map<string, number>();
  for (const point of points) {
    const value = heldBy(point, field);
    if (value !== '') counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts]
    .sort(([, a], [, b]) => b - a)
    .slice(0, coloursMax)
    .map(([value]) => value);
}

function textOf({ id, payload }: Point): string {
  return typeof payload?.text === 'string'
    ? payload.text.slice(0, 300)
    : `${id} ${JSON.stringify(payload ?? {}).slice(0, 300)}`;
}

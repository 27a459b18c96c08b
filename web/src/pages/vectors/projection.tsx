import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import type { Caller } from '../../api/caller.ts';
import { Select } from '../../parts/controls.tsx';
import { Empty } from '../../parts/empty.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { Section } from '../../parts/page.tsx';
import { Skeleton } from '../../parts/skeleton.tsx';
import { flatten } from './flatten.ts';
import { type Point, vectors } from './vectors-api.ts';

/** Points of the sample. */
const sampleMax = 300;
/** Values with a colour of their own; all others are drawn alike. */
const coloursMax = 6;

/** A sample of the points on two axes, coloured by a field of their payload. */
export default function Projection({ caller, path }: { caller: Caller; path: string }) {
  const [field, setField] = useState('');
  const [at, setAt] = useState<number | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: ['/v1/vectors/collections', caller.key.id, path, 'sample'],
    queryFn: async ({ signal }) => {
      const body = { query: { sample: 'random' }, limit: sampleMax, with_payload: true, with_vector: true };
      return (await vectors<{ points: Point[] }>(caller, 'POST', `${path}/points/query`, body, signal)).points;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  const points = useMemo(() => data?.filter(({ vector }) => Array.isArray(vector)), [data]);
  const places = useMemo(() => flatten((points ?? []).map(({ vector }) => vector as number[])), [points]);
  if (error !== null) return <ErrorNote error={error} retry={() => void refetch()} />;
  if (points === undefined) return <Skeleton className="h-96" />;
  if (points.length < 3) return <Empty title="Too few points for a map.">It begins with three.</Empty>;
  const fields = [...new Set(points.flatMap(({ payload }) => Object.keys(payload ?? {})))].filter(
    (one) => one !== 'text',
  );
  const values = valuesOf(points, field);
  const shown = at === null ? undefined : points[at];
  return (
    <Section
      title={`${points.length} points, where they differ most`}
      actions={
        <Select
          aria-label="Coloured by"
          className="w-40"
          value={field}
          onChange={(event) => setField(event.target.value)}
        >
          <option value="">One colour</option>
          {fields.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </Select>
      }
    >
      {values.length > 0 && (
        <ul className="mb-2 flex flex-wrap gap-x-4 text-muted text-xs" aria-label="Colours">
          {values.map((value, place) => (
            <li key={value} className="inline-flex items-center gap-1.5">
              <span className="size-2 rounded-full" style={{ background: colour(place) }} aria-hidden />
              {value}
            </li>
          ))}
        </ul>
      )}
      <svg viewBox="-1.06 -0.5 2.12 1" role="img" aria-label="Map of the points" className="w-full">
        {points.map((point, place) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the list of points has the same by keyboard.
          <circle
            key={String(point.id)}
            cx={places[place]!.x}
            cy={-places[place]!.y * 0.45}
            r={at === place ? 0.018 : 0.011}
            fill={field === '' ? colour(0) : colour(values.indexOf(heldBy(point, field)))}
            fillOpacity={0.75}
            onMouseEnter={() => setAt(place)}
          />
        ))}
      </svg>
      <p className="mt-2 min-h-10 text-sm [overflow-wrap:anywhere]">
        {shown === undefined ? <span className="text-muted">Point at one to read it.</span> : textOf(shown)}
      </p>
    </Section>
  );
}

function colour(place: number): string {
  return place < 0 ? 'var(--faint)' : `var(--series-${place + 1})`;
}

function heldBy({ payload }: Point, field: string): string {
  const value = payload?.[field];
  return value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);
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

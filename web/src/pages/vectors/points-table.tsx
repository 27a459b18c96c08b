import { Boxes } from 'lucide-react';
import type { Caller } from '../../api/caller.ts';
import { type Listed, usePagesOf } from '../../api/pages.ts';
import { Empty } from '../../parts/empty.tsx';
import { type Column, PagedTable } from '../../parts/tables/table.tsx';
import type { Condition } from './conditions.ts';
import { isFilterValue, isLongText, shownValue, valuesIn } from './payload-values.ts';
import { collectionsKey, type Point, vectors } from './vectors-api.ts';

/** They come with their payloads. */
const shownAtOnce = 30;
/** Characters shown of a text, which is shown in full when its point is opened. */
const textCharsMax = 400;

interface PointsTableProps {
  caller: Caller;
  /** Path of the collection. */
  path: string;
  /** The search text; '' lists all, by id. */
  text: string;
  /** The vector that is compared. */
  using: string;
  filter: object | undefined;
  onOpen: (id: Point['id']) => void;
  onCondition: (condition: Condition) => void;
}

/** Points of a collection, or those that are nearest to a text or a vector. */
export function PointsTable({ caller, path, text, using, filter, onOpen, onCondition }: PointsTableProps) {
  const pages = usePagesOf(
    [collectionsKey, caller.key.id, path, 'points', text, text && using, filter ?? null],
    (cursor, signal) => askPoints(caller, path, { text, using, filter }, cursor, signal),
  );
  const columns: Column<Point>[] = [
    {
      head: 'Point',
      value: ({ id }) => id,
      cell: (point) => <PointCell point={point} onOpen={() => onOpen(point.id)} onCondition={onCondition} />,
    },
  ];
  if (text !== '') {
    columns.push({ head: 'Score', align: 'right', cell: ({ score }) => score?.toFixed(3) });
  }
  const all = text === '' && filter === undefined;
  return (
    <PagedTable
      label="Points"
      columns={columns}
      pages={pages}
      keyOf={({ id }) => String(id)}
      empty={
        <Empty icon={<Boxes />} title={all ? 'There are no points yet.' : 'No point matches.'}>
          {all
            ? 'Add texts, one per line, points as JSON, or the pages of a site.'
            : 'Remove a filter, or search for something else.'}
        </Empty>
      }
    />
  );
}

type Place = string | number;

async function askPoints(
  caller: Caller,
  path: string,
  { text, using, filter }: Pick<PointsTableProps, 'text' | 'using' | 'filter'>,
  cursor: Place | undefined,
  signal: AbortSignal,
): Promise<Listed<Point, Place>> {
  const shared = { with_payload: true, ...(filter !== undefined && { filter }) };
  if (text === '') {
    const body = { ...shared, limit: shownAtOnce, ...(cursor !== undefined && { offset: cursor }) };
    const found = await vectors<{ points: Point[]; next_page_offset: Place | null }>(
      caller,
      'POST',
      `${path}/points/scroll`,
      body,
      signal,
    );
    return { data: found.points, next_cursor: found.next_page_offset };
  }
  const offset = Number(cursor ?? 0);
  const query = isVector(text) ? numbersIn(text) : { text };
  // One more says whether there is a next page.
  const body = { ...shared, query, ...(using !== '' && { using }), offset, limit: shownAtOnce + 1 };
  const { points } = await vectors<{ points: Point[] }>(caller, 'POST', `${path}/points/query`, body, signal);
  const more = points.length > shownAtOnce;
  return { data: points.slice(0, shownAtOnce), next_cursor: more ? offset + shownAtOnce : null };
}

/** Numbers between brackets, also while they are typed; a text may begin with a bracket, too. */
function isVector(text: string): boolean {
  return /^\[[\d\s.,eE+-]*\]?$/.test(text);
}

function numbersIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('This is not a vector. Expected numbers between brackets, such as [0.1, 0.2].');
  }
}

interface PointCellProps {
  point: Point;
  onOpen: () => void;
  onCondition: (condition: Condition) => void;
}

function PointCell({ point: { id, payload }, onOpen, onCondition }: PointCellProps) {
  const values = valuesIn(payload ?? {});
  const isText = ({ path, value }: (typeof values)[number]) => path === 'text' || isLongText(value);
  return (
    <div className="flex min-w-0 flex-col items-start gap-1.5 py-1">
      <button
        type="button"
        onClick={onOpen}
        title="Open this point"
        className="text-left font-mono text-muted text-xs underline underline-offset-2 [overflow-wrap:anywhere] hover:text-ink"
      >
        {id}
      </button>
      {values.filter(isText).map(({ id: key, value }) => (
        <p key={key} className="line-clamp-3 max-w-prose whitespace-pre-wrap text-base [overflow-wrap:anywhere]">
          {shownValue(value).slice(0, textCharsMax)}
        </p>
      ))}
      <ul className="flex max-w-full flex-wrap gap-1.5 empty:hidden">
        {values
          .filter((one) => !isText(one))
          .map(({ id: key, name, path, value }) => (
            <li key={key} className="max-w-full">
              <Value name={name} path={path} value={value} onCondition={onCondition} />
            </li>
          ))}
      </ul>
    </div>
  );
}

interface ValueProps {
  name: string;
  path: string | null;
  value: unknown;
  onCondition: (condition: Condition) => void;
}

/** A value that is clicked becomes a filter. */
function Value({ name, path, value, onCondition }: ValueProps) {
  const look = 'block max-w-full truncate rounded bg-hover px-1.5 py-0.5 text-xs';
  const shown = (
    <>
      <span className="text-muted">{name}</span> {shownValue(value)}
    </>
  );
  if (path === null || !isFilterValue(value)) {
    return <span className={look}>{shown}</span>;
  }
  return (
    <button
      type="button"
      title={`Filter by this ${name}`}
      className={`${look} hover:bg-accent-soft`}
      onClick={() => onCondition({ key: path, how: 'is', value })}
    >
      {shown}
    </button>
  );
}

import { Link } from '@tanstack/react-router';
import { ArrowDown, ArrowUp, ChevronLeft, ChevronRight } from 'lucide-react';
import { type ReactNode, useMemo } from 'react';
import type { Pages } from '../../api/pages.ts';
import { IconButton } from '../button.tsx';
import { classes } from '../classes.ts';
import { ErrorNote } from '../error-note.tsx';
import { SkeletonRows } from '../skeleton.tsx';
import { type Sorting, sorted, useSorting } from './sorting.ts';
import { type Column, nameOf, slugOf, useColumns, valueIn } from './table-columns.ts';
import { exportedMax, TableMenu } from './table-menu.tsx';

export type { Column } from './table-columns.ts';

const shownFrom = {
  sm: 'hidden @xl:table-cell',
  md: 'hidden @2xl:table-cell',
  lg: 'hidden @4xl:table-cell',
  xl: 'hidden @min-[62rem]:table-cell',
  '2xl': 'hidden @min-[78rem]:table-cell',
};

/** Room for the menu at the right end of the heads: the last shown column has it, until wider tables show a later one. */
const menuRoom = {
  never: '',
  always: 'pr-9!',
  sm: 'pr-9! @xl:pr-3!',
  md: 'pr-9! @2xl:pr-3!',
  lg: 'pr-9! @4xl:pr-3!',
  xl: 'pr-9! @min-[62rem]:pr-3!',
  '2xl': 'pr-9! @min-[78rem]:pr-3!',
};

function menuRoomOf<Row>(columns: readonly Column<Row>[], at: number): string {
  const later = columns.slice(at + 1);
  if (later.length === 0) return menuRoom.always;
  if (later.some(({ from }) => from === undefined)) return menuRoom.never;
  return menuRoom[(['sm', 'md', 'lg', 'xl', '2xl'] as const).find((size) => later.some(({ from }) => from === size))!];
}

interface FrameProps<Row> {
  /** Read aloud; also what addresses and the browser's storage call the table. */
  label: string;
  columns: readonly Column<Row>[];
  /** Undefined while the first page is on its way. */
  rows: readonly Row[] | undefined;
  keyOf: (row: Row) => string;
  /** Makes the whole row a link. */
  to?: (row: Row) => string;
  error?: Error | null;
  retry?: () => void;
  /** Shown when there are no rows. */
  empty: ReactNode;
  /** The shown data are out of date and the new ones on the way. */
  waiting?: boolean;
  footer?: ReactNode;
}

type TableProps<Row> = FrameProps<Row> & {
  /** Column that it is sorted by where the address names none: `-attempts`. Default: the order of the rows. */
  first?: string;
  /** Member of the address that has its order, if not that of its label. */
  sortKey?: string;
};

/** A table that holds all of its rows: it sorts by every column. */
export function Table<Row>({ first = '', sortKey, ...rest }: TableProps<Row>) {
  const all = async () => ({ rows: rest.rows ?? [], more: false });
  return <Frame {...rest} order={{ key: sortKey ?? `sort-${slugOf(rest.label)}`, first }} allRows={all} />;
}

interface Order {
  key: string;
  first: string;
}

interface Sorter<Row> {
  now: Sorting;
  by: (column: Column<Row>) => void;
}

/** Rows as the address sorts them; the given ones for a table that does not sort. */
function useSorted<Row>({ columns, rows }: FrameProps<Row>, order: Order | null) {
  const [now, sortBy] = useSorting(order?.first ?? '', order?.key);
  const by = columns.find((column) => nameOf(column) === now.name);
  const { name, direction } = now;
  // biome-ignore lint/correctness/useExhaustiveDependencies: columns are new with each drawing; their names are not.
  const shown = useMemo(
    () =>
      rows === undefined || by === undefined || order === null
        ? rows
        : sorted(rows, (row) => valueIn(by, row), direction),
    [rows, name, direction, order === null],
  );
  const sort = (column: Column<Row>) => {
    const texts = rows?.some((row) => typeof valueIn(column, row) === 'string');
    sortBy(nameOf(column), texts === true ? 'up' : 'down');
  };
  const sorter: Sorter<Row> | null = order === null ? null : { now, by: sort };
  return [shown, sorter] as const;
}

type WithOrder<Row> = FrameProps<Row> & {
  /** Null: the table does not sort, as its rows are a page of many. */
  order: Order | null;
  allRows: () => Promise<{ rows: readonly Row[]; more: boolean }>;
};

function Frame<Row>(props: WithOrder<Row>) {
  const { label, keyOf, to, error, retry, empty, waiting, footer, order, allRows } = props;
  const columns = useColumns(label, props.columns);
  const [rows, sorter] = useSorted(props, order);
  const linkAt = columns.shown.findIndex(({ kind }) => kind === undefined);
  const classOf = ({ align, from, className }: Column<Row>) =>
    classes(align === 'right' && 'whitespace-nowrap text-right', from !== undefined && shownFrom[from], className);
  return (
    <div className="@container relative overflow-hidden rounded-lg border border-line bg-panel">
      {error != null && (
        <div className="p-3">
          <ErrorNote error={error} retry={retry} />
        </div>
      )}
      {rows === undefined && error == null && <SkeletonRows />}
      {rows !== undefined && rows.length === 0 && empty}
      {rows !== undefined && rows.length > 0 && (
        <div className="absolute top-0.5 right-1 z-20">
          <TableMenu
            label={label}
            columns={columns}
            allRows={async () => (order === null ? allRows() : { rows, more: false })}
          />
        </div>
      )}
      {rows !== undefined && rows.length > 0 && (
        <section
          aria-label={label}
          aria-busy={waiting ?? false}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways must be reached by the keyboard.
          tabIndex={0}
          className={classes('overflow-x-auto', waiting && 'opacity-60')}
        >
          <table className="w-full border-collapse text-left text-sm">
            <thead>
              <tr className="border-line border-b">
                {columns.shown.map((column, at) => (
                  <th
                    key={nameOf(column)}
                    scope="col"
                    aria-sort={sortOf(column, sorter)}
                    className={classes(
                      'h-8 whitespace-nowrap px-2 font-medium text-muted text-xs first:pl-4 md:px-3',
                      menuRoomOf(columns.shown, at),
                      classOf(column),
                    )}
                  >
                    {column.kind !== undefined ? (
                      <span className="sr-only @xl:not-sr-only">{column.head}</span>
                    ) : sorter === null ? (
                      column.head
                    ) : (
                      <SortButton column={column} sorter={sorter} />
                    )}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={keyOf(row)} className="relative border-line border-b last:border-b-0 hover:bg-hover">
                  {columns.shown.map((column, at) => (
                    <td
                      key={nameOf(column)}
                      className={classes(
                        'h-9 px-2 py-1.5 first:pl-4 last:pr-4 md:px-3 @xl:last:pr-9',
                        // Figures end where their head ends.
                        column.align === 'right' && column.kind === undefined && menuRoomOf(columns.shown, at),
                        classOf(column),
                      )}
                    >
                      {at === linkAt && to !== undefined ? (
                        <Link
                          to={to(row)}
                          className="after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:outline-accent focus-visible:after:-outline-offset-2"
                        >
                          {column.cell(row)}
                        </Link>
                      ) : (
                        column.cell(row)
                      )}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {footer}
    </div>
  );
}

function sortOf<Row>(column: Column<Row>, sorter: Sorter<Row> | null) {
  if (sorter === null || sorter.now.name !== nameOf(column)) return undefined;
  return sorter.now.direction === 'up' ? 'ascending' : 'descending';
}

function SortButton<Row>({ column, sorter: { now, by } }: { column: Column<Row>; sorter: Sorter<Row> }) {
  const chosen = now.name === nameOf(column);
  const Arrow = chosen && now.direction === 'up' ? ArrowUp : ArrowDown;
  const arrowClass = classes(
    'absolute top-0.5 size-3',
    column.align === 'right' ? 'right-full' : 'left-full',
    !chosen && 'invisible group-hover:visible group-focus-visible:visible',
  );
  return (
    <button
      type="button"
      onClick={() => by(column)}
      className={classes('group relative hover:text-ink', chosen && 'text-ink')}
    >
      {column.head}
      <Arrow className={arrowClass} aria-hidden />
    </button>
  );
}

/** The first cell of a row: a name, and a line about it. */
export function NameCell({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="min-w-0 max-w-[56cqw] @xl:max-w-72">
      <div className="line-clamp-2 font-medium [overflow-wrap:anywhere]" title={name}>
        {name}
      </div>
      {/* It may be as narrow as the name: a line that does not break would widen the table. */}
      <div className="line-clamp-1 break-all text-muted text-xs">{children}</div>
    </div>
  );
}

type PagedProps<Row> = Omit<FrameProps<Row>, 'rows' | 'error' | 'retry' | 'waiting' | 'footer'> & {
  pages: Pages<Row>;
};

/** A table that pages on the server. It sorts when one page has all of its rows: no list of the API takes an order. */
export function PagedTable<Row>({ pages, ...rest }: PagedProps<Row>) {
  const { rows, error, waiting, refetch, page, next, previous, all } = pages;
  const isWhole = page === 1 && next === null && !waiting;
  const footer = (next !== null || previous !== null) && (
    <nav
      aria-label={`Pages of ${rest.label}`}
      className="flex h-10 items-center justify-end gap-1 border-line border-t px-2 text-muted text-xs"
    >
      <span className="mr-1">Page {page}</span>
      <IconButton label="Previous page" disabled={previous === null} onClick={() => previous?.()}>
        <ChevronLeft />
      </IconButton>
      <IconButton label="Next page" disabled={next === null} onClick={() => next?.()}>
        <ChevronRight />
      </IconButton>
    </nav>
  );
  return (
    <Frame
      rows={rows}
      error={error}
      retry={refetch}
      waiting={waiting}
      footer={footer}
      order={isWhole ? { key: `sort-${slugOf(rest.label)}`, first: '' } : null}
      allRows={() => all(exportedMax)}
      {...rest}
    />
  );
}

import { Link } from '@tanstack/react-router';
import { ArrowDown, ArrowUp, ChevronLeft, ChevronRight } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Pages } from '../api/pages.ts';
import { IconButton } from './button.tsx';
import { classes } from './classes.ts';
import { ErrorNote } from './error-note.tsx';
import { SkeletonRows } from './skeleton.tsx';
import { type Sorting, type SortValue, sorted, useSorting } from './sorting.ts';

export interface Column<Row> {
  /** In the head; also what a screen reader says. */
  head: string;
  cell: (row: Row) => ReactNode;
  /** Figures are aligned right. */
  align?: 'right';
  /** Width of the table from which it is shown; without one, on a phone, too. */
  from?: 'sm' | 'md' | 'lg' | 'xl' | '2xl';
  /** Of the cell and its head, such as a width. */
  className?: string;
  /** Makes the column one that the table can be sorted by, under this name in the URL. */
  sort?: { name: string; of: (row: Row) => SortValue };
}

const shownFrom = {
  sm: 'hidden @xl:table-cell',
  md: 'hidden @2xl:table-cell',
  lg: 'hidden @4xl:table-cell',
  xl: 'hidden @min-[62rem]:table-cell',
  '2xl': 'hidden @min-[78rem]:table-cell',
};

interface TableProps<Row> {
  /** Read aloud. */
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
  /** How it is sorted now, and what a click on a head does. */
  sorting?: readonly [Sorting, (name: string) => void];
}

/** A table that holds all of its rows, sorted by the column that the URL names: `first` where it names none. */
export function SortedTable<Row>({ first, rows, ...rest }: Omit<TableProps<Row>, 'sorting'> & { first: string }) {
  const sorting = useSorting(first);
  const [{ name, direction }] = sorting;
  const by = rest.columns.find(({ sort }) => sort?.name === name)?.sort;
  return (
    <Table
      {...rest}
      sorting={sorting}
      rows={rows === undefined || by === undefined ? rows : sorted(rows, by.of, direction)}
    />
  );
}

export function Table<Row>({
  label,
  columns,
  rows,
  keyOf,
  to,
  error,
  retry,
  empty,
  waiting,
  footer,
  sorting,
}: TableProps<Row>) {
  const classOf = ({ align, from, className }: Column<Row>) =>
    classes(align === 'right' && 'whitespace-nowrap text-right', from !== undefined && shownFrom[from], className);
  return (
    <div className="@container overflow-hidden rounded-lg border border-line bg-panel">
      {error != null && (
        <div className="p-3">
          <ErrorNote error={error} retry={retry} />
        </div>
      )}
      {rows === undefined && error == null && <SkeletonRows />}
      {rows !== undefined && rows.length === 0 && empty}
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
                {columns.map((column) => (
                  <th
                    key={column.head}
                    scope="col"
                    aria-sort={sortOf(column, sorting)}
                    className={classes(
                      'h-8 whitespace-nowrap px-2 font-medium text-muted text-xs first:pl-4 last:pr-4 md:px-3',
                      classOf(column),
                    )}
                  >
                    {column.sort === undefined || sorting === undefined ? (
                      column.head
                    ) : (
                      <SortButton column={column} name={column.sort.name} sorting={sorting} />
                    )}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={keyOf(row)} className="relative border-line border-b last:border-b-0 hover:bg-hover">
                  {columns.map((column, at) => (
                    <td
                      key={column.head}
                      className={classes('h-9 px-2 py-1.5 first:pl-4 last:pr-4 md:px-3', classOf(column))}
                    >
                      {at === 0 && to !== undefined ? (
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

function sortOf<Row>({ sort }: Column<Row>, sorting: TableProps<Row>['sorting']) {
  if (sort === undefined || sorting?.[0].name !== sort.name) return undefined;
  return sorting[0].direction === 'up' ? 'ascending' : 'descending';
}

interface SortButtonProps<Row> {
  column: Column<Row>;
  name: string;
  sorting: NonNullable<TableProps<Row>['sorting']>;
}

function SortButton<Row>({ column, name, sorting: [now, sortBy] }: SortButtonProps<Row>) {
  const chosen = now.name === name;
  const Arrow = chosen && now.direction === 'up' ? ArrowUp : ArrowDown;
  return (
    <button
      type="button"
      onClick={() => sortBy(name)}
      className={classes('group inline-flex items-center gap-1 hover:text-ink', chosen && 'text-ink')}
    >
      {column.align !== 'right' && column.head}
      <Arrow className={classes('size-3', !chosen && 'invisible group-hover:visible')} aria-hidden />
      {column.align === 'right' && column.head}
    </button>
  );
}

/** The first cell of a row: a name, and a line about it. */
export function NameCell({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="min-w-0 max-w-[56cqw] @xl:max-w-72">
      <div className="truncate font-medium">{name}</div>
      <div className="truncate text-muted text-xs">{children}</div>
    </div>
  );
}

type PagedProps<Row> = Omit<TableProps<Row>, 'rows' | 'error' | 'retry' | 'waiting' | 'footer'> & { pages: Pages<Row> };

/** A table that pages on the server. */
export function PagedTable<Row>({ pages, ...rest }: PagedProps<Row>) {
  const { rows, error, waiting, refetch, page, next, previous } = pages;
  const footer = (next !== null || previous !== null) && (
    <nav
      aria-label="Pages"
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
  return <Table rows={rows} error={error} retry={refetch} waiting={waiting} footer={footer} {...rest} />;
}

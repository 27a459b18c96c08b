import { isValidElement, type ReactNode, useMemo } from 'react';
import { Ago, Count, Moment, Money, Span } from '../figures.tsx';
import { useFilters } from '../filters.ts';
import { useStored } from '../stored/use-stored.ts';
import type { SortValue } from './sorting.ts';

export interface Column<Row> {
  /** In the head; also what a screen reader says. */
  head: string;
  /** In addresses. Default: the head in small letters, with hyphens. */
  name?: string;
  cell: (row: Row) => ReactNode;
  /** Value by which rows are sorted, and which an export has. Default: the text or the figure that the cell shows. */
  value?: (row: Row) => SortValue;
  /** Buttons, at the end, or a picture before the last column: it is not sorted by, moved or exported. */
  kind?: 'actions' | 'picture';
  /** Figures are aligned right. */
  align?: 'right';
  /** Width of the table from which it is shown; without one, on a phone, too. */
  from?: 'sm' | 'md' | 'lg' | 'xl' | '2xl';
  /** Classes of the cell and its head, such as a width. */
  className?: string;
}

/** `Input tokens` → `input-tokens`; what a table or a column is called in addresses and in the browser's storage. */
export function slugOf(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9%]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}

export function nameOf<Row>({ name, head }: Column<Row>): string {
  return name ?? slugOf(head);
}

export function valueIn<Row>(column: Column<Row>, row: Row): SortValue {
  return column.value === undefined ? shownBy(column.cell(row)) : column.value(row);
}

function shownBy(node: ReactNode): SortValue {
  if (typeof node === 'string' || typeof node === 'number') return node;
  if (Array.isArray(node)) {
    const texts = node.map((one) => shownBy(one as ReactNode)).filter((text) => text !== null);
    return texts.length === 0 ? null : texts.join(' ').trim();
  }
  if (!isValidElement(node)) return null;
  const props = node.props as Record<string, ReactNode>;
  if (node.type === Count || node.type === Money) return figure(props.value);
  if (node.type === Span) return figure(props.ms);
  if (node.type === Ago || node.type === Moment) return typeof props.at === 'string' ? props.at : null;
  return shownBy(props.children);
}

function figure(value: ReactNode): number | null {
  return typeof value === 'number' ? value : null;
}

/** Columns of a table as their reader wants them: all names in order, and those that are not shown. */
export interface Arranged {
  order: string[];
  hidden: string[];
}

const untouched: Arranged = { order: [], hidden: [] };

/** In an address, of the tables of a page: `keys:key.status.expires` shows these three, in this order. */
const inAddress = 'columns';

export interface Columns<Row> {
  /** Columns in the order in which they are shown. */
  shown: readonly Column<Row>[];
  /** All that can be moved and hidden, in order. */
  movable: readonly Column<Row>[];
  isShown: (column: Column<Row>) => boolean;
  arrange: (arranged: Arranged) => void;
  /** For a link to the table as it is; null while nobody has changed it. */
  address: string | null;
}

/** Which columns a table shows: as a link says, else as this browser remembers. */
export function useColumns<Row>(label: string, columns: readonly Column<Row>[]): Columns<Row> {
  const table = slugOf(label);
  const [arranged, setArranged] = useStored<Arranged>(`columns.${table}`, untouched, 'browser');
  const [filters, setFilters] = useFilters<typeof inAddress>();
  const linked = linkedTo(filters[inAddress] ?? '', table);
  return useMemo(() => {
    const movable = columns.filter(({ kind }) => kind === undefined);
    const order = linked ?? arranged.order;
    const places = new Map(order.map((name, at) => [name, at]));
    const placeOf = (column: Column<Row>, at: number) => places.get(nameOf(column)) ?? order.length + at;
    const sorted = movable
      .map((column, at) => ({ column, place: order.length === 0 ? at : placeOf(column, at) }))
      .sort((a, b) => a.place - b.place)
      .map(({ column }) => column);
    const hidden = new Set(linked === null ? arranged.hidden : sorted.map(nameOf).filter((name) => !places.has(name)));
    const isShown = (column: Column<Row>) => !hidden.has(nameOf(column));
    const visible = sorted.some(isShown) ? sorted.filter(isShown) : sorted;
    const isChanged = linked !== null || order.length > 0 || hidden.size > 0;
    return {
      shown: [
        ...visible.slice(0, -1),
        ...columns.filter(({ kind }) => kind === 'picture'),
        ...visible.slice(-1),
        ...columns.filter(({ kind }) => kind === 'actions'),
      ],
      movable: sorted,
      isShown,
      arrange(arranged: Arranged) {
        setArranged(arranged);
        if (linked !== null) setFilters({ [inAddress]: '' }, 'look');
      },
      address: isChanged ? `${table}:${visible.map(nameOf).join('.')}` : null,
    };
  }, [columns, arranged, linked, setFilters, setArranged, table]);
}

const linkedNames = new Map<string, string[] | null>();

/** The names that an address has for a table; the same array for the same text. */
function linkedTo(text: string, table: string): string[] | null {
  const known = `${table} ${text}`;
  const before = linkedNames.get(known);
  if (before !== undefined) return before;
  const part = text.split(' ').find((one) => one.startsWith(`${table}:`));
  const names = part === undefined ? null : part.slice(table.length + 1).split('.');
  linkedNames.set(known, names);
  return names;
}

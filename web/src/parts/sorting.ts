import { useFilters } from './filters.ts';

/** What a row is sorted by; null comes last in both directions. */
export type SortValue = string | number | null;

export interface Sorting {
  /** The column's name in the URL. */
  name: string;
  direction: 'up' | 'down';
}

/** The order of a table, kept in the URL: `sort=attempts` rises, `sort=-attempts` falls. */
export function useSorting(first: string, key = 'sort'): [Sorting, (name: string) => void] {
  const [filters, setFilters] = useFilters<string>();
  const text = filters[key] ?? first;
  const sorting: Sorting = text.startsWith('-')
    ? { name: text.slice(1), direction: 'down' }
    : { name: text, direction: 'up' };
  const sortBy = (name: string) => {
    const turned = sorting.name === name && sorting.direction === 'down' ? name : `-${name}`;
    setFilters({ [key]: turned === first ? '' : turned });
  };
  return [sorting, sortBy];
}

export function sorted<Row>(rows: readonly Row[], of: (row: Row) => SortValue, direction: Sorting['direction']): Row[] {
  const sign = direction === 'up' ? 1 : -1;
  return rows.toSorted((one, other) => {
    const [a, b] = [of(one), of(other)];
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
    return a === b ? 0 : (a < b ? -1 : 1) * sign;
  });
}

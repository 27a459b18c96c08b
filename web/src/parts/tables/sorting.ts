import { useFilters } from '../filters.ts';

/** Value that a row is sorted by; null comes last in both directions. */
export type SortValue = string | number | null;

export interface Sorting {
  /** The column's name in the URL; '' for the order in which the rows came. */
  name: string;
  direction: 'up' | 'down';
}

/**
 * The order of a table, kept in the URL: `sort=attempts` rises, `sort=-attempts` falls. A column is first sorted in the
 * direction that its values suggest, then the other way round; the third time the table has its own order again.
 */
export function useSorting(first: string, key = 'sort'): [Sorting, (name: string, begin: 'up' | 'down') => void] {
  const [filters, setFilters] = useFilters<string>();
  const text = filters[key] ?? first;
  const sorting: Sorting = text.startsWith('-')
    ? { name: text.slice(1), direction: 'down' }
    : { name: text, direction: 'up' };
  const sortBy = (name: string, begin: 'up' | 'down') => {
    const turned = begin === 'up' ? 'down' : 'up';
    const isChosen = sorting.name === name;
    const next = isChosen && sorting.direction === turned ? first : textOf(name, isChosen ? turned : begin);
    setFilters({ [key]: next === first ? '' : next });
  };
  return [sorting, sortBy];
}

function textOf(name: string, direction: 'up' | 'down'): string {
  return direction === 'down' ? `-${name}` : name;
}

/** `model-2` comes before `model-10`. */
const collator = new Intl.Collator('en', { numeric: true });

export function sorted<Row>(rows: readonly Row[], of: (row: Row) => SortValue, direction: Sorting['direction']): Row[] {
  const sign = direction === 'up' ? 1 : -1;
  const values = new Map(rows.map((row) => [row, of(row)]));
  return rows.toSorted((one, other) => {
    const [a, b] = [values.get(one) ?? null, values.get(other) ?? null];
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
    if (typeof a === 'string' && typeof b === 'string') return collator.compare(a, b) * sign;
    return a === b ? 0 : (a < b ? -1 : 1) * sign;
  });
}

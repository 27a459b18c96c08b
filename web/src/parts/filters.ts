import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

export type Filters<Name extends string> = Partial<Record<Name, string>>;

/**
 * What a page shows, kept in its URL so that it can be shared: texts by name. An empty one leaves the URL. The setter
 * changes those that it is given; only as a `step` does Back undo it.
 */
export function useFilters<Name extends string>(): [Filters<Name>, (changes: Filters<Name>, as?: 'step') => void] {
  const filters = useSearch({ strict: false }) as Filters<Name>;
  const navigate = useNavigate();
  const set = useCallback(
    (changes: Filters<Name>, as?: 'step') => {
      const next = (before: Record<string, string>) =>
        Object.fromEntries(Object.entries({ ...before, ...changes }).filter(([, value]) => value));
      void navigate({ to: '.', search: next as never, replace: as !== 'step' });
    },
    [navigate],
  );
  return [filters, set];
}

/** Plain `?name=text`: the router's own writes JSON, in which 429 and "429" are two filters. */
export const searchForm = {
  parseSearch: (text: string): Record<string, string> => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch(search: Record<string, unknown>): string {
    const params = new URLSearchParams();
    for (const [name, value] of Object.entries(search))
      if (value != null && value !== '') params.set(name, String(value));
    return params.size === 0 ? '' : `?${params}`;
  },
};

import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback } from 'react';

export type Filters<Name extends string> = Partial<Record<Name, string>>;

/** Member of a URL for the page of its list. */
export const pagesName = 'pages';

/** `step`: Back undoes the change. `look`: the list has the same rows as before, so it stays at its page. */
type ChangeKind = 'step' | 'look';

/**
 * Filters of a page, in its URL so that it can be shared: texts by name. An empty one leaves the URL. The setter
 * changes those that it is given, and lists begin again at their first page.
 */
export function useFilters<Name extends string>(): [Filters<Name>, (changes: Filters<Name>, as?: ChangeKind) => void] {
  const filters = useSearch({ strict: false }) as Filters<Name>;
  const navigate = useNavigate();
  const set = useCallback(
    (changes: Filters<Name>, as?: ChangeKind) => {
      const next = (before: Record<string, string>) => {
        const all = { ...before, ...(as !== 'look' && { [pagesName]: '' }), ...changes };
        return Object.fromEntries(Object.entries(all).filter(([, value]) => value));
      };
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

import { useEffect, useMemo, useState } from 'react';
import { useFilters } from '../filters.ts';
import { keep, storedOr } from '../stored/use-stored.ts';
import { anyTime, between, calendar, isRange, queryOf, type SpanQuery, spanOf } from './range.ts';
import { useZone } from './zone.ts';

const name = 'range';

export interface Ranged {
  /** The range as the address has it. */
  text: string;
  zone: string;
  /** For calls of the API. Empty for `any`. */
  query: SpanQuery;
  /** Parameters of links to pages with a range, which then show the same one. */
  search: Record<string, string>;
  /** Its bounds; null for `any`. */
  bounds: () => { fromMs: number; toMs: number } | null;
  /** A step in the history: Back returns to the range before. */
  choose: (range: string) => void;
  /** The same with a range between two instants. */
  zoom: (fromMs: number, toMs: number) => void;
}

/**
 * The range of a page: that of its address, else the one that was chosen last in this tab, else `first`. `any`: the page
 * offers to show all there is.
 */
export function useRange(first = '24h', offers: 'any' | 'ranges' = 'ranges'): Ranged {
  const [filters, setFilters] = useFilters<'range' | 'zone'>();
  const zone = useZone();
  const fits = (text: string | undefined) =>
    text !== undefined && isRange(text) && (text !== anyTime || offers === 'any') ? text : undefined;
  const [entered] = useState(() => (filters.range === undefined ? fits(storedOr(name, '', 'session')) : undefined));
  const preset = fits(filters.range);
  const text = preset ?? (filters.range === undefined ? entered : undefined) ?? first;
  // So that the address of a page says what it shows, also where the range came along from another page.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the page is entered.
  useEffect(() => {
    if (entered !== undefined) setFilters({ range: entered, ...(entered in calendar && { zone }) });
  }, []);
  const minute = Math.floor(Date.now() / 60_000);
  return useMemo(() => {
    const choose = (range: string) => {
      keep(name, range, 'session');
      setFilters({ range, zone: range in calendar ? zone : '' }, 'step');
    };
    return {
      text,
      zone,
      query: queryOf(text, minute * 60_000, zone),
      search: { range: text, ...(text in calendar && { zone }) },
      bounds() {
        const span = spanOf(text, Date.now(), zone);
        return span && { fromMs: span.fromMs, toMs: span.toMs ?? Date.now() };
      },
      choose,
      zoom: (fromMs: number, toMs: number) => choose(between(fromMs, toMs)),
    };
  }, [text, zone, minute, setFilters]);
}

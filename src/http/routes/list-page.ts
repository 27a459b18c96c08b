import { FailureError, invalid } from '../../kernel/failure.ts';
import { isSortedId } from '../../kernel/ids.ts';

/** A page of a list as OpenAI asks for it: `limit`, `order` (newest first by default), `after`. */
export interface ListPage {
  limit: number;
  order: 'asc' | 'desc';
  after: string | null;
}

/** `idPrefix`: of the ids of the list. Throws a FailureError that names the parameter. */
export function listed(
  query: URLSearchParams,
  { idPrefix, ...bounds }: { limit: number; limitMax: number; idPrefix: string },
): ListPage {
  return {
    limit: wholeOf(query, 'limit', bounds.limitMax) ?? bounds.limit,
    order: (oneOf(query, 'order', ['asc', 'desc']) as 'asc' | 'desc' | null) ?? 'desc',
    after: placeIn(query, 'after', idPrefix),
  };
}

/**
 * The id behind or before which a page begins; null: it was not sent. The list goes on there after its removal too, since
 * these ids sort by time. Throws a FailureError for an id that the list cannot have shown.
 */
export function placeIn(query: URLSearchParams, name: string, idPrefix: string): string | null {
  const id = query.get(name);
  if (id === null || isSortedId(idPrefix, id)) return id;
  throw new FailureError(invalid(name, `'${name}' names nothing of this list: '${id.slice(0, 128)}'.`));
}

/** A whole number from 1 to `max`; null: it was not sent. */
export function wholeOf(query: URLSearchParams, name: string, max: number): number | null {
  const text = query.get(name);
  if (text === null) return null;
  if (/^\d{1,9}$/.test(text) && Number(text) >= 1 && Number(text) <= max) return Number(text);
  throw new FailureError(invalid(name, `'${name}' must be a whole number from 1 to ${max}.`));
}

/** One of these words; null: it was not sent. */
export function oneOf(query: URLSearchParams, name: string, words: readonly string[]): string | null {
  const text = query.get(name);
  if (text === null || words.includes(text)) return text;
  throw new FailureError(invalid(name, `'${name}' must be one of ${words.join(', ')}.`));
}

import { FailureError, invalid } from '../../kernel/failure.ts';

/** A page of a list as OpenAI asks for it: `limit`, `order` (newest first by default), `after`. */
export interface ListPage {
  limit: number;
  order: 'asc' | 'desc';
  after: string | null;
}

/** Throws a FailureError that names the parameter. */
export function listed(query: URLSearchParams, bounds: { limit: number; limitMax: number }): ListPage {
  return {
    limit: wholeOf(query, 'limit', bounds.limitMax) ?? bounds.limit,
    order: (oneOf(query, 'order', ['asc', 'desc']) as 'asc' | 'desc' | null) ?? 'desc',
    after: query.get('after'),
  };
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

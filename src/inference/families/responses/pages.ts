import { type Failure, FailureError, invalid } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { StoredItem } from './sealed-rows.ts';

/** Which part of a list a caller wants. */
export interface Page {
  limit: number;
  order: 'asc' | 'desc';
  /** Id of the item behind which it begins; null: the first. */
  after: string | null;
}

const limitMax = 100;

/** Reads the page that a query asks for. Throws a FailureError that names the parameter. */
export function readPage(query: URLSearchParams): Page {
  const limit = query.get('limit') ?? '20';
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > limitMax) {
    throw wrong('limit', `'limit' must be a whole number from 1 to ${limitMax}.`);
  }
  const order = query.get('order') ?? 'desc';
  if (order !== 'asc' && order !== 'desc') throw wrong('order', "'order' must be 'asc' or 'desc'.");
  return { limit: Number(limit), order, after: query.get('after') };
}

function wrong(param: string, message: string): FailureError {
  return new FailureError(invalid(param, message));
}

/** The page of a list that is there whole, in its own order. Throws a FailureError for an `after` that is not in it. */
export function pageOf(items: readonly StoredItem[], { limit, order, after }: Page): JsonObject {
  const ordered = order === 'asc' ? items : items.toReversed();
  const at = after === null ? -1 : ordered.findIndex(({ id }) => id === after);
  if (after !== null && at < 0) throw new FailureError(unknownAfter(after));
  return listOf(ordered.slice(at + 1, at + 2 + limit), limit);
}

export function unknownAfter(after: string): Failure {
  return invalid('after', `'after' names no item of this list: '${after.slice(0, 128)}'.`);
}

/** OpenAI's list; one item more than `limit` says that others follow. */
export function listOf(found: readonly StoredItem[], limit: number): JsonObject {
  const data = found.slice(0, limit);
  return {
    object: 'list',
    data: [...data],
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: found.length > limit,
  };
}

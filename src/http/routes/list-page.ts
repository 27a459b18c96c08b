import type { Listed } from '../../books/metering/batch-store.ts';
import { allRead, type Failure, invalid, isFailure } from '../../kernel/failure.ts';
import { isSortedId } from '../../kernel/ids.ts';
import type { JsonObject } from '../../kernel/json.ts';

/** A page of a list as OpenAI asks for it: `limit`, `order` (newest first by default), `after`. */
export type ListPage = Pick<Listed, 'limit' | 'order' | 'after'>;

/** The page that a query asks for; its `after` may be any text. A failure names the parameter. */
export function pageIn(query: URLSearchParams, bounds = { limit: 20, limitMax: 100 }): ListPage | Failure {
  return allRead<ListPage>({
    limit: wholeOf(query, 'limit', bounds.limitMax) ?? bounds.limit,
    order: oneOf(query, 'order', ['asc', 'desc']) ?? 'desc',
    after: query.get('after'),
  });
}

/** The same for a list whose ids begin with `idPrefix`, and sort by time. */
export function listed(
  query: URLSearchParams,
  { idPrefix, ...bounds }: { limit: number; limitMax: number; idPrefix: string },
): ListPage | Failure {
  const page = pageIn(query, bounds);
  return isFailure(page) ? page : allRead<ListPage>({ ...page, after: placeIn(query, 'after', idPrefix) });
}

/**
 * The id behind or before which a page begins; null: it was not sent. The list goes on there after its removal too, since
 * these ids sort by time. A failure for an id that the list cannot have shown.
 */
export function placeIn(query: URLSearchParams, name: string, idPrefix: string): string | Failure | null {
  const id = query.get(name);
  return id === null || isSortedId(idPrefix, id) ? id : notOfList(name, id);
}

/** The refusal of an id that the list does not have. */
export function notOfList(name: string, id: string): Failure {
  return invalid(name, `'${name}' names nothing of this list: '${id.slice(0, 128)}'.`);
}

/** OpenAI's list of objects with ids, of which one more than `limit` was read. */
export function listOf(objects: readonly JsonObject[], limit: number): JsonObject {
  return { object: 'list', ...shownPage(objects.slice(0, limit), objects.length > limit) };
}

/** The page of a list that is there whole, the oldest first. */
export function pageOfWhole(objects: readonly JsonObject[], { limit, order, after }: ListPage): JsonObject | Failure {
  const ordered = order === 'asc' ? objects : objects.toReversed();
  const at = after === null ? -1 : ordered.findIndex(({ id }) => id === after);
  if (after !== null && at < 0) return notOfList('after', after);
  return listOf(ordered.slice(at + 1, at + 2 + limit), limit);
}

/**
 * A page as Anthropic asks for it, newest first: `limit`, `before_id`, and behind `after`, which was read from the query.
 * `more`: whether others follow in the direction of the page.
 */
export async function pageAround<Row>(
  query: URLSearchParams,
  { idPrefix, after }: { idPrefix: string; after: string | null },
  read: (page: ListPage) => Promise<readonly Row[]>,
): Promise<{ rows: readonly Row[]; more: boolean; isBefore: boolean } | Failure> {
  const limit = wholeOf(query, 'limit', 1_000) ?? 20;
  if (isFailure(limit)) return limit;
  const before = placeIn(query, 'before_id', idPrefix);
  if (isFailure(before)) return before;
  const isBefore = before !== null;
  const found = await read({ limit: limit + 1, order: isBefore ? 'asc' : 'desc', after: before ?? after });
  const rows = found.slice(0, limit);
  return { rows: isBefore ? rows.toReversed() : rows, more: found.length > limit, isBefore };
}

/** A page as both OpenAI and Anthropic show it. */
export function shownPage(objects: readonly JsonObject[], has_more: boolean): JsonObject {
  return { data: [...objects], first_id: objects[0]?.id ?? null, last_id: objects.at(-1)?.id ?? null, has_more };
}

/** A whole number from 1 to `max`; null: it was not sent. */
export function wholeOf(query: URLSearchParams, name: string, max: number): number | Failure | null {
  const text = query.get(name);
  if (text === null) return null;
  if (/^\d{1,9}$/.test(text) && Number(text) >= 1 && Number(text) <= max) return Number(text);
  return invalid(name, `'${name}' must be a whole number from 1 to ${max}.`);
}

/** One of these words; null: it was not sent. */
export function oneOf<Word extends string>(
  query: URLSearchParams,
  name: string,
  words: readonly Word[],
): Word | Failure | null {
  const text = query.get(name);
  if (text === null) return null;
  return words.find((word) => word === text) ?? invalid(name, `'${name}' must be one of ${words.join(', ')}.`);
}

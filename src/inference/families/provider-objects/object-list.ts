import { FailureError, invalid } from '../../../kernel/failure.ts';
import { isObject, isWhole, type JsonObject } from '../../../kernel/json.ts';

/** Pages of a provider's list that are looked through for a caller's objects, and how long one is. */
const pagesMax = 10;
const pageRows = 100;

/** A page of the provider's list, by the query; its answer as it is where that is no list. */
export type AskPage = (query: string) => Promise<{ status: number; bytes: Buffer; json: unknown }>;

/**
 * A page of those objects of a provider's list that `givenOf` leaves: `limit` and `after` count what the caller sees.
 * Throws a 400 for a wrong limit.
 */
export async function pageOfTenant(
  search: string,
  ask: AskPage,
  givenOf: (ids: readonly string[]) => Promise<ReadonlySet<string>>,
): Promise<{ status: number; body: string | Buffer }> {
  const query = new URLSearchParams(search);
  const limit = Number(query.get('limit') ?? 20);
  if (!isWhole(limit, 1, 100)) {
    throw new FailureError(invalid('limit', "'limit' must be a whole number from 1 to 100."));
  }
  query.set('limit', String(pageRows));
  const data: JsonObject[] = [];
  let hasMore = false;
  for (let page = 0; page < pagesMax; page += 1) {
    const { status, bytes, json } = await ask(query.toString());
    const rows = isObject(json) && Array.isArray(json.data) ? json.data.filter(isObject) : null;
    if (status >= 300 || rows === null) return { status, body: bytes };
    const ids = rows.map(({ id }) => String(id));
    const given = await givenOf(ids);
    for (const row of rows) {
      if (!given.has(String(row.id))) continue;
      hasMore = data.length === limit;
      if (hasMore) break;
      data.push(row);
    }
    const last = ids.at(-1);
    if (hasMore || last === undefined || (json as JsonObject).has_more !== true) break;
    query.set('after', last);
  }
  const list = {
    object: 'list',
    data,
    first_id: data.at(0)?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: hasMore,
  };
  return { status: 200, body: JSON.stringify(list) };
}

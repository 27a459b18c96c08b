import { attributeKey } from '../../../inference/families/vectors/search-files.ts';
import { refusedFilter, vectorFilter } from '../../../inference/server-tools/file-filter.ts';
import type { FoundPassage, Passages } from '../../../inference/vector-stores/passages.ts';
import type { StoreCaller, VectorStores } from '../../../inference/vector-stores/vector-stores.ts';
import { allRead, type Failure, failureIn, invalidField, isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject, type JsonValue } from '../../../kernel/json.ts';
import { writeJson } from '../../write-json.ts';
import type { StoredCall } from '../stored-route.ts';
import { isWhole } from './store-fields.ts';

export interface SearchParts {
  stores: VectorStores;
  passages: Passages;
}

const resultsMax = 50;
const queriesMax = 10;
const queryCharsMax = 4_096;
const rankers = ['auto', 'none', 'default-2024-11-15'];

/**
 * Answers with the passages of a store that are nearest to the queries: a header names the field that was left out. A
 * failure is not answered.
 */
export async function searchStore(
  { stores, passages }: SearchParts,
  { tenant, params, body, exchange }: StoredCall,
  caller: StoreCaller,
): Promise<Failure | null> {
  const read = searchOf(body);
  if (isFailure(read)) return read;
  const { queries, ...searchOptions } = read;
  const store = await stores.usable(tenant, params.id ?? '');
  await stores.touch(store);
  const found: FoundPassage[] = [];
  try {
    for (const query of queries) found.push(...(await passages.search(caller, store.id, { ...searchOptions, query })));
  } catch (error) {
    return refusedFilter(failureIn(error), 'filters');
  }
  const answer = {
    object: 'vector_store.search_results.page',
    search_query: queries,
    data: best(found, read.resultsMax).map(({ file, name, score, attributes, text }) => ({
      file_id: file,
      filename: name,
      score,
      attributes: { ...attributes },
      content: [{ type: 'text', text }],
    })),
    has_more: false,
    next_page: null,
  };
  const dropped = body.rewrite_query === true ? ['x-culvert-dropped', 'rewrite_query'] : [];
  writeJson(exchange, 200, answer, [...(exchange.admitted?.headers ?? []), ...dropped]);
  return null;
}

/** A passage that several queries found counts once, with its best score. */
function best(found: readonly FoundPassage[], most: number): FoundPassage[] {
  const ordered = found.toSorted((one, other) => other.score - one.score);
  const seen = new Set<string>();
  const once = ordered.filter(({ file, text }) => {
    const name = `${file}\n${text}`;
    if (seen.has(name)) return false;
    seen.add(name);
    return true;
  });
  return once.slice(0, most);
}

interface Search {
  queries: string[];
  resultsMax: number;
  filter: JsonObject | null;
  /** Null: any. */
  scoreMin: number | null;
}

function searchOf(body: JsonObject): Search | Failure {
  const { query, max_num_results: most = 10, filters, ranking_options: options } = body;
  const fits = isWhole(most, 1, resultsMax);
  return allRead<Search>({
    queries: queriesOf(query),
    resultsMax: fits ? most : invalidField('max_num_results', `must be a whole number from 1 to ${resultsMax}`),
    filter: filterOf(filters),
    scoreMin: scoreOf(options),
  });
}

function queriesOf(query: JsonValue | undefined): string[] | Failure {
  const all = typeof query === 'string' ? [query] : query;
  const fits =
    Array.isArray(all) &&
    all.length >= 1 &&
    all.length <= queriesMax &&
    all.every((one) => typeof one === 'string' && one.trim() !== '' && one.length <= queryCharsMax);
  if (fits) return all as string[];
  return invalidField(
    'query',
    `must be a text of at most ${queryCharsMax} characters, or a list of at most ${queriesMax}`,
  );
}

function filterOf(filters: JsonValue | undefined): JsonObject | Failure | null {
  if (filters == null) return null;
  return isObject(filters)
    ? vectorFilter(filters, 'filters', attributeKey)
    : invalidField('filters', 'must be an object');
}

/** Least score; null: any. */
function scoreOf(options: JsonValue | undefined): number | Failure | null {
  if (options == null) return null;
  if (!isObject(options)) return invalidField('ranking_options', 'must be an object');
  const { ranker, score_threshold: least } = options;
  if (ranker != null && !rankers.includes(ranker as string))
    return invalidField('ranking_options.ranker', `must be one of ${rankers.join(', ')}`);
  if (least == null) return null;
  if (typeof least === 'number' && least >= 0 && least <= 1) return least === 0 ? null : least;
  return invalidField('ranking_options.score_threshold', 'must be a number from 0 to 1');
}

import type { JsonValue } from '../../kernel/json.ts';
import type { KeyPath } from '../filter/key-path.ts';
import { readKeyPath } from '../filter/read-key-path.ts';
import { readObject, refuse } from '../filter/refuse.ts';
import type { Reranking } from '../vector-engine.ts';
import type { PointQuery } from '../vector-store.ts';
import { optional, readString, readWhole } from './read-scalars.ts';
import { modelCharsMax } from './vector-reader.ts';

/** Points that one call may have reranked: as many texts as services take at once. */
const rerankPointsMax = 1_000;
const queryCharsMax = 32_768;

/** How the points of one query are ranked anew. */
export interface Rerank extends Reranking {
  /** Place of the text in the payload; keys alone. */
  textKey: KeyPath;
  /** Points that are answered; null: all that were found. */
  top: number | null;
}

/**
 * `rerank` of a body. `wording`: the query's own text, null when it has none, or several. Throws a FailureError (400).
 */
export function readRerank(value: JsonValue, { limit }: Pick<PointQuery, 'limit'>, wording: string | null): Rerank {
  const body = readObject(value, 'rerank', ['model', 'query', 'text_key', 'top_n']);
  const { model, query, text_key: key, top_n: top } = body;
  const read = {
    model: readString(model, 'rerank.model', modelCharsMax),
    query: optional(query) ? wording : readString(query, 'rerank.query', queryCharsMax),
    textKey: readTextKey(key ?? 'text'),
    top: optional(top) ? null : readWhole(top, 'rerank.top_n', 1, rerankPointsMax),
  };
  if (read.query === null) refuse('rerank.query', 'is missing, because the query has no single text');
  if (limit > rerankPointsMax) refuse('limit', `at most ${rerankPointsMax} points a call are reranked, got ${limit}`);
  return { ...read, query: read.query };
}

function readTextKey(value: JsonValue): KeyPath {
  const key = readKeyPath(value, 'rerank.text_key');
  if (key.steps.some(({ kind }) => kind !== 'key')) {
    refuse('rerank.text_key', 'must name one value, by keys alone, as in a.b');
  }
  return key;
}

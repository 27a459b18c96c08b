import { payloadSelector } from '../filter/payload-select.ts';
import { valuesAt } from '../filter/reach.ts';
import { refuse } from '../filter/refuse.ts';
import type { ScoredPoint, Want } from '../point.ts';
import type { RankedText } from '../vector-engine.ts';
import type { VectorStore } from '../vector-store.ts';
import type { Rerank } from './read-rerank.ts';
import { shortestFloat } from './shortest-float.ts';
import { shownPoints, shownScored } from './shown-collection.ts';
import type { VectorRequest } from './vector-request.ts';

/** Characters of the texts that one call has ranked. */
const textCharsMax = 8_000_000;

/** Points that a query found, for a rerank model to say their order. */
export type Candidates = Awaited<ReturnType<typeof findCandidates>>;

/** Rejects with a FailureError: the store's, or a 400 for too much text. */
export async function findCandidates(
  store: VectorStore,
  tenant: string,
  { collection, query, form }: Extract<VectorRequest, { kind: 'query' }>,
  { textKey, top }: Rerank,
) {
  const { payload } = query.want;
  const want = { ...query.want, payload: withKey(payload, textKey.text) };
  const [points = []] = await store.query(tenant, collection, [{ ...query, want }]);
  const worded: ScoredPoint[] = [];
  const texts: string[] = [];
  for (const point of points) {
    const [text] = valuesAt(point.payload ?? null, textKey.steps);
    if (typeof text !== 'string' || text.trim() === '') continue;
    worded.push(point);
    texts.push(text);
  }
  const chars = texts.reduce((sum, text) => sum + text.length, 0);
  if (chars > textCharsMax) {
    refuse(
      'limit',
      `the texts of these points have ${chars} characters, but a call reranks at most ${textCharsMax}; lower it`,
    );
  }
  const select = payloadSelector(payload);
  const shown = ({ payload: whole, ...rest }: ScoredPoint, score: number) => {
    const point = select === null ? rest : { ...rest, payload: whole == null ? null : select(whole) };
    return { ...shownScored(point), score, original_score: shortestFloat(point.score) };
  };
  return {
    /** Texts of the points that have one, in the order in which they were found. */
    texts,
    /** The answer's `result`. `ranked`: of `texts`; points without a rank come last, as they were found. */
    inOrder(ranked: readonly RankedText[]): unknown {
      const best = [...ranked].sort((a, b) => b.score - a.score);
      const ranks = best.flatMap(({ index, score }) => (worded[index] ? [{ point: worded[index], score }] : []));
      const first = new Set(ranks.map(({ point }) => point));
      // Clients want a number, and an order by it that is the answer's.
      const lastScore = Math.min(0, best.at(-1)?.score ?? 0);
      const all = [
        ...ranks.map(({ point, score }) => shown(point, score)),
        ...points.filter((point) => !first.has(point)).map((point) => shown(point, lastScore)),
      ];
      return shownPoints(top === null ? all : all.slice(0, top), form);
    },
  };
}

/** The wanted parts, and the text. */
function withKey(want: Want['payload'], key: string): Want['payload'] {
  if (want === false) return { include: [key] };
  return want !== true && 'include' in want ? { include: [...want.include, key] } : true;
}

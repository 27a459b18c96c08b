import type { CodeRows } from './code-rows.ts';
import { exactScore, ranked } from './exact-score.ts';
import { createTopK } from './top-k.ts';
import type { IndexOptions, Ranked } from './vector-index.ts';

/** Rows that are sorted by their codes for each one wanted; scored exactly are those of them that may be in. */
export const rescoredPerResult = 4;

/**
 * Most rows scored beyond those that are wanted when many are too near to tell apart: with fewer, such collections
 * would give wrong results. Filtered rows have no such bound.
 */
const extraRescoredMax = 20_000;

/** The best `k` of `rows`, or of all, whose products with `query` have been made. */
export function refineRows(
  codes: CodeRows,
  { distance, rows: source }: IndexOptions,
  query: Float32Array,
  k: number,
  rows: Uint32Array | null,
): Ranked {
  const { score, sign } = exactScore(distance);
  const total = rows === null ? codes.count : rows.length;
  const rough = createTopK(Math.min(total, Math.max(rescoredPerResult * k, 32)));
  const each = (visit: (key: number, row: number) => void): void => {
    if (rows === null) codes.each(visit);
    else for (const row of rows) visit(codes.key(row), row);
  };
  codes.offerTo(rough, rows);
  const near = rough.drain();
  const top = createTopK(Math.min(total, k));
  const rescore = (row: number): void => {
    const slot = codes.slot(row);
    top.offer(score(query, source.vector(slot)!) * sign, slot);
  };
  const marginMax = codes.margin(null);
  for (let i = 0; i < near.ids.length; i += 1) {
    const key = near.keys[i]!;
    const row = near.ids[i]!;
    // Neither this one nor any behind it can be better than the worst that is in.
    if (key + marginMax < neededKey()) return ranked(top, sign);
    if (!(key + codes.margin(row) < neededKey())) rescore(row);
  }
  const last = near.ids.length - 1;
  if (near.ids.length === total || near.keys[last]! + marginMax < neededKey()) return ranked(top, sign);

  const extra = createTopK(rows === null ? Math.min(total, extraRescoredMax) : rows.length);
  const [lastKey, lastRow, needed] = [near.keys[last]!, near.ids[last]!, neededKey()];
  const surely = needed - marginMax;
  each((key, row) => {
    if (key < surely || key > lastKey || (key === lastKey && row <= lastRow)) return;
    if (!(key + codes.margin(row) < needed)) extra.offer(key, row);
  });
  for (const row of extra.drain().ids) {
    if (!(codes.key(row) + codes.margin(row) < neededKey())) rescore(row);
  }
  return ranked(top, sign);

  /** The key of the worst that is in so far. */
  function neededKey(): number {
    return codes.keyOfScore(top.floor * sign);
  }
}

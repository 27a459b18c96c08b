/** More candidates than these are not compared. */
const comparedMax = 1_000;
/** Three rows of `editDistance`, for a word of 256 characters and a candidate that is a few longer. */
const rows = [new Uint16Array(300), new Uint16Array(300), new Uint16Array(300)] as const;

/**
 * The candidate that was probably meant: one typing error away, else one that begins with the word (or the other way
 * round), else two errors away. Null when nothing is near; short words must be nearer.
 */
export function nearest(word: string, candidates: Iterable<string>): string | null {
  let best: string | null = null;
  let bestDistance = Math.min(2, Math.floor(word.length / 2)) + 1;
  let byPrefix: string | null = null;
  let compared = 0;
  for (const candidate of candidates) {
    if (compared === comparedMax) break;
    compared += 1;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase(), bestDistance);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
    if (byPrefix === null && word.length >= 3 && (candidate.startsWith(word) || word.startsWith(candidate))) {
      byPrefix = candidate;
    }
  }
  return byPrefix !== null && bestDistance > 1 ? byPrefix : best;
}

/** ` (did you mean 'x'?)`, or '' when nothing is near. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const found = nearest(word, candidates);
  return found === null ? '' : ` (did you mean '${found}'?)`;
}

/** Insertions, deletions, replacements and swaps of neighbours; `limit` when there are that many or more. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit || a.length > 256) return a === b ? 0 : limit;
  let [beforeLast, last, row] = rows;
  let lowestOfLast = 0;
  for (let j = 0; j <= b.length; j++) last[j] = j;
  for (let i = 1; i <= a.length; i++) {
    // Further from the diagonal each distance is `limit` or more.
    const from = Math.max(1, i - limit);
    const to = Math.min(b.length, i + limit);
    row[from - 1] = from === 1 ? i : limit;
    let lowest = limit;
    for (let j = from; j <= to; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, beforeLast[j - 2]! + 1);
      row[j] = cost;
      if (cost < lowest) lowest = cost;
    }
    if (to < b.length) row[to + 1] = limit;
    // Callers' model names come here, too. A name that is already too far is not read to its end.
    if (lowest >= limit && lowestOfLast >= limit) return limit;
    lowestOfLast = lowest;
    [beforeLast, last, row] = [last, row, beforeLast];
  }
  return Math.min(last[b.length]!, limit);
}

/** Length of the vectors of the contract's embedding models. */
export const dimensions = 1_024;
/** Points of one write. */
export const batchPoints = 1_000;
/** Every how many points one has a given `group`: a filter on it passes 1 %. */
export const groups = 100;
/** The same of `tenth`: a filter on it passes 10 %. */
const tenths = 10;

const clusters = 500;

/** Numbers from 0 to 1, the same for a seed. */
function uniform(seed: number): () => number {
  let state = seed | 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4_294_967_296;
  };
}

/** Points as embeddings lie: in clusters, with noise about as long as what a cluster has in common. */
export interface Points {
  /** Fills rows of `into` with the points `from`, `from + 1`, …; any order gives the same points. */
  fill(into: Float32Array, from: number): void;
  batch(from: number, count: number): Float32Array;
  /** Near some point, but none of them. */
  queries(count: number): Float32Array[];
}

export function createPoints(seed: number): Points {
  const random = uniform(seed);
  const centers = Float32Array.from({ length: clusters * dimensions }, () => random() - 0.5);

  function one(into: Float32Array, offset: number, number: number, salt: number): void {
    const next = uniform(Math.imul(number + 1, 2_654_435_761) ^ salt);
    const center = Math.floor(next() * clusters) * dimensions;
    let squares = 0;
    for (let i = 0; i < dimensions; i++) {
      const value = centers[center + i]! + (next() - 0.5);
      into[offset + i] = value;
      squares += value * value;
    }
    const length = Math.sqrt(squares);
    for (let i = 0; i < dimensions; i++) into[offset + i] = into[offset + i]! / length;
  }

  function fill(into: Float32Array, from: number): void {
    for (let row = 0; row * dimensions < into.length; row++) one(into, row * dimensions, from + row, seed);
  }

  return {
    fill,
    batch(from, count) {
      const vectors = new Float32Array(count * dimensions);
      fill(vectors, from);
      return vectors;
    },
    queries: (count) =>
      Array.from({ length: count }, (_, at) => {
        const query = new Float32Array(dimensions);
        one(query, 0, at, seed ^ 0x5bd1e995);
        return query;
      }),
  };
}

export function payloadOf(id: number): string {
  return JSON.stringify({
    group: id % groups,
    tenth: id % tenths,
    text: `Text of the point ${id}, as long as a short sentence would be.`,
  });
}

/** Ids of the best `k` by the plain sum in doubles, best first; `ids`: those that count. */
export function trueNeighbours(
  points: Points,
  count: number,
  queries: readonly Float32Array[],
  k: number,
  counts: (id: number) => boolean = () => true,
): number[][] {
  const best: { id: number; score: number }[][] = queries.map(() => []);
  const block = new Float32Array(batchPoints * dimensions);
  for (let from = 0; from < count; from += batchPoints) {
    points.fill(block, from);
    for (let row = 0; row < batchPoints && from + row < count; row++) {
      const id = from + row;
      if (!counts(id)) continue;
      for (const [at, query] of queries.entries()) {
        const score = dot(block, row * dimensions, query);
        const list = best[at]!;
        if (list.length === k && score <= list[k - 1]!.score) continue;
        const place = list.findIndex((other) => score > other.score);
        list.splice(place === -1 ? list.length : place, 0, { id, score });
        if (list.length > k) list.pop();
      }
    }
  }
  return best.map((list) => list.map(({ id }) => id));
}

function dot(rows: Float32Array, offset: number, query: Float32Array): number {
  let a = 0;
  let b = 0;
  for (let i = 0; i < dimensions; i += 2) {
    a += rows[offset + i]! * query[i]!;
    b += rows[offset + i + 1]! * query[i + 1]!;
  }
  return a + b;
}

/** Share of the true neighbours that were found. */
export function recall(found: readonly (readonly number[])[], truth: readonly (readonly number[])[]): number {
  let hits = 0;
  let all = 0;
  for (const [at, ids] of truth.entries()) {
    all += ids.length;
    hits += ids.filter((id) => found[at]!.includes(id)).length;
  }
  return hits / all;
}

/** Rounds of the power iteration; the picture no longer changes to the eye after fewer. */
const rounds = 40;

/** Vectors on the two axes along which they differ most (principal components), each scaled to -1 … 1. */
export function flatten(vectors: readonly (readonly number[])[]): { x: number; y: number }[] {
  const size = vectors[0]?.length ?? 0;
  const mean = Array.from(
    { length: size },
    (_, at) => vectors.reduce((sum, one) => sum + one[at]!, 0) / vectors.length,
  );
  const rows = vectors.map((one) => one.map((value, at) => value - mean[at]!));
  const first = component(rows, size);
  const second = component(
    rows.map((row) => minus(row, first, dot(row, first))),
    size,
  );
  const x = scaled(rows.map((row) => dot(row, first)));
  const y = scaled(rows.map((row) => dot(row, second)));
  return rows.map((_, at) => ({ x: x[at]!, y: y[at]! }));
}

/** The direction in which the rows differ most. Begins the same each time, so that a map stays the same. */
function component(rows: readonly (readonly number[])[], size: number): number[] {
  let axis = unit(Array.from({ length: size }, (_, at) => Math.sin(at + 1)));
  for (let round = 0; round < rounds; round += 1) {
    const next = new Array<number>(size).fill(0);
    for (const row of rows) {
      const along = dot(row, axis);
      for (let at = 0; at < size; at += 1) next[at]! += along * row[at]!;
    }
    axis = unit(next);
  }
  return axis;
}

function dot(a: readonly number[], b: readonly number[]): number {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) sum += a[at]! * b[at]!;
  return sum;
}

function minus(a: readonly number[], b: readonly number[], times: number): number[] {
  return a.map((value, at) => value - times * b[at]!);
}

function unit(vector: readonly number[]): number[] {
  const length = Math.sqrt(dot(vector, vector));
  return length === 0 ? [...vector] : vector.map((value) => value / length);
}

function scaled(values: readonly number[]): number[] {
  const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return largest === 0 ? [...values] : values.map((value) => value / largest);
}

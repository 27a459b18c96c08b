import type { Caller } from '../../api/caller.ts';
import { call } from '../../api/request.ts';

export interface Collection {
  name: string;
  vector_size: number;
  distance: string;
  embedding_model?: string;
}

export interface Point {
  id: string | number;
  payload?: Record<string, unknown> | null;
  vector?: unknown;
  /** Of a search. */
  score?: number;
}

/** One condition that was clicked together: a field of the payload with a value. */
export interface Condition {
  key: string;
  value: string | number | boolean;
  not: boolean;
}

/** A call of `/v1/vectors`; what is under `result` of the answer. */
export async function vectors<Result>(
  caller: Caller,
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Result> {
  const options = { headers: caller.headers, ...(body !== undefined && { body }), ...(signal && { signal }) };
  const { result } = await call<{ result: Result }>(method, `/v1/vectors${path}`, options);
  return result;
}

export function collectionPath(name: string): string {
  return `/collections/${encodeURIComponent(name)}`;
}

/** The filter of a search; undefined where nothing is asked. */
export function filterOf(conditions: readonly Condition[]): object | undefined {
  if (conditions.length === 0) return undefined;
  const written = (not: boolean) =>
    conditions
      .filter((one) => one.not === not)
      // What is no whole number has no `match`.
      .map(({ key, value }) =>
        typeof value === 'number' && !Number.isInteger(value)
          ? { key, range: { gte: value, lte: value } }
          : { key, match: { value } },
      );
  return { must: written(false), must_not: written(true) };
}

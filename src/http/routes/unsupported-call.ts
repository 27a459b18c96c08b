import type { Route } from '../exchange.ts';

/** A call of another product's API that Culvert does not do. */
export interface UnsupportedCall {
  /** find-my-way's pattern, below where that API is mounted. */
  path: string;
  methods: readonly Route['method'][];
  /** What it is, and what to do instead, in sentences. */
  message: string;
}

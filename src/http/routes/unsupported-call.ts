import type { Route } from '../exchange.ts';

/** A call of another product's API that Culvert does not do. */
export interface UnsupportedCall {
  /** find-my-way's pattern, below where that API is mounted. */
  path: string;
  methods: readonly Route['method'][];
  /** The call and its replacement, in sentences. */
  message: string;
}

import type { JsonValue } from '../kernel/json.ts';
import type { Condition, GeoPoint } from './filter/filter.ts';
import type { KeyPath } from './filter/key-path.ts';

/** How a point's score is reckoned from those that prefetches gave it and from its payload. */
export interface Formula {
  expression: Expression;
  /** For variables that a point does not have; `$score[1]` or a key path, as the caller wrote it. */
  defaults: Readonly<Record<string, JsonValue>>;
}

export type Expression =
  | { kind: 'constant'; value: number }
  /** The score that the prefetch of that number gave. */
  | { kind: 'score'; prefetch: number }
  | { kind: 'payload'; key: KeyPath }
  /** 1 where it holds, else 0. */
  | { kind: 'condition'; condition: Condition }
  /** Metres. */
  | { kind: 'geo-distance'; origin: GeoPoint; to: KeyPath }
  /** Seconds since 1970. */
  | { kind: 'datetime'; text: string; seconds: number }
  | { kind: 'datetime-key'; key: KeyPath }
  | { kind: 'mult' | 'sum'; parts: readonly Expression[] }
  | { kind: OneOperand; of: Expression }
  | { kind: 'div'; left: Expression; right: Expression; byZero: number | null }
  | { kind: 'pow'; base: Expression; exponent: Expression }
  /** 1 at the target, `midpoint` at `scale` from it. */
  | { kind: 'decay'; shape: DecayShape; x: Expression; target: Expression | null; midpoint: number; scale: number };

export const oneOperands = ['neg', 'abs', 'sqrt', 'exp', 'log10', 'ln'] as const;
export type OneOperand = (typeof oneOperands)[number];
export const decayShapes = ['lin', 'exp', 'gauss'] as const;
export type DecayShape = (typeof decayShapes)[number];

import { FailureError, invalid } from '../../../kernel/failure.ts';
import type { JsonObject, JsonValue } from '../../../kernel/json.ts';
import { datetimeMs } from '../../filter/datetime.ts';
import { filterOf } from '../../filter/filter.ts';
import { geoPointOf, metresBetween } from '../../filter/geo.ts';
import type { KeyPath } from '../../filter/key-path.ts';
import { matches } from '../../filter/matches.ts';
import { valuesAt } from '../../filter/reach.ts';
import type { Expression, Formula } from '../../formula.ts';
import type { PointId } from '../../point.ts';
import { eachInSteps, type Steps, scannedPerStep } from '../index/resumable-steps.ts';
import { createTopK } from '../index/top-k.ts';
import type { Ranked } from '../index/vector-index.ts';
import type { OpenCollection } from '../open-collection.ts';
import type { VectorTables } from '../vector-rows.ts';

interface FormulaPoint {
  slot: number;
  id: PointId;
  payload: JsonObject | null;
}

/** The best `k` results of prefetches, in steps. Throws a FailureError (400) for a point that the formula gives no number. */
export function* scoreByFormula(
  { points }: VectorTables,
  { cid, vectors, memory }: OpenCollection,
  { expression, defaults }: Formula,
  sources: readonly Ranked[],
  k: number,
): Steps<Ranked> {
  const scores = sources.map(({ slots, scores: given }) => new Map(Array.from(slots, (slot, i) => [slot, given[i]])));
  const slots = Uint32Array.from(new Set(sources.flatMap((source) => [...source.slots])));

  function evaluate(part: Expression, point: FormulaPoint): number {
    const of = (one: Expression) => evaluate(one, point);
    switch (part.kind) {
      case 'constant':
        return part.value;
      case 'score':
        return scores[part.prefetch]?.get(point.slot) ?? defaultScore(part.prefetch);
      case 'payload':
        return readAt(point, part.key, 'a number', (value) => (typeof value === 'number' ? value : null));
      case 'condition': {
        const filter = memory.understood(filterOf('must', [part.condition]));
        return matches(filter, { ...point, hasVector: (name) => vectors.get(name)?.has(point.slot) ?? false }) ? 1 : 0;
      }
      case 'geo-distance':
        return metresBetween(part.origin, readAt(point, part.to, 'a geo point', geoPointOf));
      case 'datetime':
        return part.seconds;
      case 'datetime-key':
        return (
          readAt(point, part.key, 'a time', (value) => (typeof value === 'string' ? datetimeMs(value) : null)) / 1_000
        );
      case 'mult': {
        let product = 1;
        for (const one of part.parts) {
          const value = of(one);
          // Factors after a 0 are not read, nor missed.
          if (value === 0) return 0;
          product *= value;
        }
        return product;
      }
      case 'sum':
        return part.parts.reduce((sum, one) => sum + of(one), 0);
      case 'div': {
        const left = of(part.left);
        if (left === 0) return 0;
        const right = of(part.right);
        return right === 0 && part.byZero !== null ? part.byZero : finite(left / right, point, `${left} / ${right}`);
      }
      case 'pow': {
        const [base, exponent] = [of(part.base), of(part.exponent)];
        return finite(base ** exponent, point, `${base} ^ ${exponent}`);
      }
      case 'decay':
        return decay(part, of(part.x) - (part.target === null ? 0 : of(part.target)));
      case 'neg':
        return -of(part.of);
      case 'abs':
        return Math.abs(of(part.of));
      default: {
        const value = of(part.of);
        return finite(functions[part.kind](value), point, `${part.kind}(${value})`);
      }
    }
  }

  function defaultScore(prefetch: number): number {
    const value = defaults[`$score[${prefetch}]`] ?? (prefetch === 0 ? defaults.$score : undefined);
    return typeof value === 'number' ? value : 0;
  }

  function readAt<Value>(
    { id, payload }: FormulaPoint,
    { text, steps }: KeyPath,
    what: string,
    read: (value: JsonValue) => Value | null,
  ): Value {
    // Null and an empty array are not values, as in Qdrant.
    const values = valuesAt(payload, steps).filter((one) => one !== null && !(Array.isArray(one) && one.length === 0));
    const value = values.length === 0 ? defaults[text] : values.length === 1 ? values[0] : values;
    const found = value === undefined ? null : read(value);
    if (found !== null) return found;
    return refuse(`'${text}' of the point ${id} is not ${what}, and has no such default`);
  }

  const top = createTopK(Math.min(k, slots.length));
  yield* eachInSteps(slots, scannedPerStep, (slot) => {
    const { id, payload } = points.row(cid, slot);
    const point = { slot, id, payload: payload === null ? null : (JSON.parse(payload) as JsonObject) };
    top.offer(finite(Math.fround(evaluate(expression, point)), point, 'the score'), slot);
  });
  const { keys, ids } = top.drain();
  return { slots: ids, scores: keys };
}

const functions = { sqrt: Math.sqrt, exp: Math.exp, log10: Math.log10, ln: Math.log } as const;

function decay({ shape, midpoint, scale }: Extract<Expression, { kind: 'decay' }>, distance: number): number {
  switch (shape) {
    case 'lin':
      return Math.max(0, 1 - ((1 - midpoint) / scale) * Math.abs(distance));
    case 'exp':
      return Math.exp((Math.log(midpoint) / scale) * Math.abs(distance));
    case 'gauss':
      return Math.exp((Math.log(midpoint) / scale ** 2) * distance ** 2);
  }
}

function finite(value: number, { id }: FormulaPoint, what: string): number {
  return Number.isFinite(value) ? value : refuse(`${what} is not a finite number for the point ${id}`);
}

function refuse(message: string): never {
  throw new FailureError(invalid('query.formula', `query.formula: ${message}`));
}

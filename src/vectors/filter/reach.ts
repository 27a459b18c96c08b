import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { compared } from '../exact-json.ts';
import type { KeyStep } from './key-path.ts';

/**
 * Visits the values that a path reaches, in order; stops and gives true as soon as `visit` does. A path ends at an array
 * as a whole: its elements are reached by `[]` alone.
 */
export function reach(
  payload: JsonObject | null,
  steps: readonly KeyStep[],
  visit: (value: JsonValue) => boolean,
): boolean {
  return payload !== null && walk(payload, steps, 0, visit);
}

/** All values that a path reaches. */
export function valuesAt(payload: JsonObject | null, steps: readonly KeyStep[]): JsonValue[] {
  const values: JsonValue[] = [];
  reach(payload, steps, (value) => {
    values.push(value);
    return false;
  });
  return values;
}

/** Each different value once, as it is compared: elements of an array, or the value itself. */
export function differentValues(payload: JsonObject | null, steps: readonly KeyStep[]): JsonValue[] {
  return [...new Set(valuesAt(payload, steps).flat(1).map(compared))];
}

function walk(from: JsonValue, steps: readonly KeyStep[], at: number, visit: (value: JsonValue) => boolean): boolean {
  let value = from;
  for (let i = at; i < steps.length; i++) {
    const step = steps[i]!;
    if (step.kind === 'key') {
      // An own member alone: a payload has no `constructor` unless its writer gave it one.
      if (!isObject(value) || !Object.hasOwn(value, step.name)) return false;
      value = value[step.name] ?? null;
    } else if (!Array.isArray(value)) {
      return false;
    } else if (step.kind === 'index') {
      if (step.at >= value.length) return false;
      value = value[step.at] ?? null;
    } else {
      for (const element of value) if (walk(element, steps, i + 1, visit)) return true;
      return false;
    }
  }
  return visit(value);
}

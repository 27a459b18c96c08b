import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import { directMember } from '../../kernel/known-entry.ts';
import { hasMembers, parseExact } from '../exact-json.ts';
import type { KeyStep } from './key-path.ts';

/**
 * Sets the members of `changes` in the object that `steps` names (none: the payload itself), in place, as Qdrant does:
 * null members are removed, a value in the way of a key becomes an object, a value in the way of an array becomes an
 * empty one, and an index beyond the array names nothing.
 */
export function mergePayload(payload: JsonObject, changes: JsonObject, steps: readonly KeyStep[]): void {
  mergeAt(payload, steps, 0, changes);
}

/** Removes what `steps` names, in place; `a[]` empties the array. A single element (`a[0]`) stays, as in Qdrant. */
export function deleteByPath(payload: JsonObject, steps: readonly KeyStep[]): void {
  deleteAt(payload, steps, 0);
}

/** Sets an own member, whatever its name: `__proto__` too is a key like any other. */
export function setMember(object: JsonObject, name: string, value: JsonValue): void {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

function mergeAt(value: JsonValue, steps: readonly KeyStep[], depth: number, changes: JsonObject): JsonValue {
  const step = steps[depth];
  if (step === undefined || step.kind === 'key') {
    const object = hasMembers(value) ? value : {};
    if (step === undefined) mergeMembers(object, changes);
    else setMember(object, step.name, mergeAt(memberOf(object, step.name), steps, depth + 1, changes));
    return object;
  }
  if (!Array.isArray(value)) return [];
  for (const [i, element] of value.entries()) {
    if (step.kind === 'each' || step.at === i) value[i] = mergeAt(element, steps, depth + 1, changes);
  }
  return value;
}

function mergeMembers(object: JsonObject, changes: JsonObject): void {
  for (const [name, value = null] of Object.entries(changes)) {
    if (value === null) delete object[name];
    // A copy for each place: several may be set at once, and later changes must reach one of them alone.
    else setMember(object, name, typeof value === 'object' ? (parseExact(JSON.stringify(value)) as JsonValue) : value);
  }
}

function deleteAt(value: JsonValue, steps: readonly KeyStep[], depth: number): void {
  const step = steps[depth];
  const last = depth === steps.length - 1;
  if (step?.kind === 'key') {
    if (!hasMembers(value)) return;
    if (last) delete value[step.name];
    else deleteAt(memberOf(value, step.name), steps, depth + 1);
  } else if (step !== undefined && Array.isArray(value)) {
    if (last && step.kind === 'each') value.length = 0;
    else if (!last)
      for (const [i, element] of value.entries()) {
        if (step.kind === 'each' || step.at === i) deleteAt(element, steps, depth + 1);
      }
  }
}

function memberOf(object: JsonObject, name: string): JsonValue {
  return directMember(object, name) ?? null;
}

import type { JsonObject, JsonValue } from '../../kernel/json.ts';
import { hasMembers } from '../exact-json.ts';
import type { Want } from '../point.ts';
import type { KeyPath, KeyStep } from './key-path.ts';
import { setMember } from './payload-change.ts';
import { readKeyPath } from './read-key-path.ts';

/** Returns the wanted part of a payload. */
export type PayloadSelector = (payload: JsonObject) => JsonObject;

const each: KeyStep = { kind: 'each' };

/**
 * The part that `with_payload` lets through; null when payloads are not wanted. Paths work as in Qdrant: a path names
 * everything below it, `[]` alone names elements of arrays (`a[].b`; `a[0]` names nothing), and objects and arrays on
 * the way to a path stay, even when they are left empty. Throws a FailureError (400) for an invalid path.
 */
export function payloadSelector(want: Want['payload']): PayloadSelector | null {
  if (typeof want === 'boolean') return want ? (payload) => payload : null;
  const at = 'include' in want ? 'with_payload.include' : 'with_payload.exclude';
  const texts = 'include' in want ? want.include : want.exclude;
  const paths = texts.map((text, i) => readKeyPath(text, `${at}[${i}]`));
  const select = 'include' in want ? included : excluded;
  return (payload) => select(payload, paths, 0) as JsonObject;
}

/** `paths`: those that lead here, none of which has ended yet. */
function included(value: JsonValue, paths: readonly KeyPath[], depth: number): JsonValue {
  return selectMembers(value, (step, member) => {
    const onward = paths.filter((path) => sameStep(path.steps[depth], step));
    if (onward.length === 0) return undefined;
    return onward.some((path) => path.steps.length === depth + 1) ? member : included(member, onward, depth + 1);
  });
}

function excluded(value: JsonValue, paths: readonly KeyPath[], depth: number): JsonValue {
  return selectMembers(value, (step, member) => {
    const onward = paths.filter((path) => sameStep(path.steps[depth], step));
    if (onward.some((path) => path.steps.length === depth + 1)) return undefined;
    return onward.length === 0 ? member : excluded(member, onward, depth + 1);
  });
}

function selectMembers(
  value: JsonValue,
  select: (step: KeyStep, member: JsonValue) => JsonValue | undefined,
): JsonValue {
  if (Array.isArray(value))
    return value.map((element) => select(each, element)).filter((element) => element !== undefined);
  if (!hasMembers(value)) return value;
  const selected: JsonObject = {};
  for (const [name, member = null] of Object.entries(value)) {
    const part = select({ kind: 'key', name }, member);
    if (part !== undefined) setMember(selected, name, part);
  }
  return selected;
}

function sameStep(a: KeyStep | undefined, b: KeyStep): boolean {
  return a?.kind === 'key' ? b.kind === 'key' && a.name === b.name : a?.kind === 'each' && b.kind === 'each';
}

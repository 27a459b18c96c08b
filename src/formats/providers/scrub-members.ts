import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import { type ScrubKnown, scrub, withoutKnown } from './scrub.ts';

const depthMax = 4;
const membersMax = 32;
/** Most characters of a model's text. */
const modelTextCharsMax = 32_768;

/** Members that hold the model's text, which is the caller's own: no pattern may cut it. */
const modelTexts: ReadonlySet<string> = new Set(['failed_generation']);

/**
 * The members of a vendor's error other than message and code, as callers may read them: each text as `scrub` leaves
 * it, at most 32 members of an object or list and four levels of them.
 */
export function scrubMembers(members: JsonObject, known: ScrubKnown): JsonObject {
  return scrubbed(members, known, depthMax) as JsonObject;
}

function scrubbed(value: JsonValue, known: ScrubKnown, depth: number): JsonValue {
  if (typeof value === 'string') return scrub(value, known);
  if (Array.isArray(value)) {
    return depth === 0 ? [] : value.slice(0, membersMax).map((one) => scrubbed(one, known, depth - 1));
  }
  if (!isObject(value)) return value;
  const entries = depth === 0 ? [] : Object.entries(value).slice(0, membersMax);
  return Object.fromEntries(
    entries.map(([name, member]) => [
      scrub(name, known),
      modelTexts.has(name) && typeof member === 'string'
        ? withoutKnown(member, known).slice(0, modelTextCharsMax).toWellFormed()
        : scrubbed(member as JsonValue, known, depth - 1),
    ]),
  );
}

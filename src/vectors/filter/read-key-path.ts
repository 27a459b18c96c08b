import type { KeyPath, KeyStep } from './key-path.ts';
import { kindOf, quoted, refuse } from './refuse.ts';

export const keyPathCharsMax = 1_024;
/** Deeper than any payload that is taken. */
export const keyPathStepsMax = 64;

const plainKey = /[\p{Alphabetic}\p{N}_-]+/uy;
const quotedKey = /"([^"\\]*)"/y;
const index = /\[(\d{0,15})\]/y;

/**
 * A path as Qdrant reads it: keys of letters, digits, `_` and `-`, others in double quotes (`"a.b".c`), joined by dots;
 * `[0]` is one element of an array, `[]` all. It begins with a key. `at` is its path in the body. Throws a FailureError
 * (400).
 */
export function readKeyPath(value: unknown, at: string): KeyPath {
  if (typeof value !== 'string') refuse(at, `expected a key path, got ${kindOf(value)}`);
  if (value.length > keyPathCharsMax)
    refuse(at, `a key path has at most ${keyPathCharsMax} characters, this one has ${value.length}`);
  const steps: KeyStep[] = [];
  let end = 0;
  while (end < value.length || steps.length === 0) {
    const bracket = value.charCodeAt(end) === 0x5b && steps.length > 0;
    if (!bracket && steps.length > 0) {
      if (value.charCodeAt(end) !== 0x2e) refuseChar(value, end, at);
      end++;
    }
    const step = bracket ? readBracket(value, end) : readKey(value, end);
    if (step === null) return refuseChar(value, end, at);
    steps.push(step.step);
    end = step.end;
    if (steps.length > keyPathStepsMax) refuse(at, `a key path has at most ${keyPathStepsMax} steps`);
  }
  return { text: value, steps };
}

function readKey(text: string, start: number): { step: KeyStep; end: number } | null {
  plainKey.lastIndex = start;
  const plain = plainKey.exec(text);
  if (plain !== null) return { step: { kind: 'key', name: plain[0] }, end: plainKey.lastIndex };
  quotedKey.lastIndex = start;
  const name = quotedKey.exec(text)?.[1];
  return name === undefined ? null : { step: { kind: 'key', name }, end: quotedKey.lastIndex };
}

function readBracket(text: string, start: number): { step: KeyStep; end: number } | null {
  index.lastIndex = start;
  const found = index.exec(text);
  if (found === null) return null;
  const step: KeyStep = found[1] === '' ? { kind: 'each' } : { kind: 'index', at: Number(found[1]) };
  return { step, end: index.lastIndex };
}

function refuseChar(text: string, end: number, at: string): never {
  const where = end >= text.length ? 'it ends too soon' : `look at character ${end + 1}`;
  refuse(
    at,
    `${quoted(text)} is not a key path (${where}): write a.b, a[0] or a[].b, and keys with other characters in double quotes, as in "a b".c`,
  );
}

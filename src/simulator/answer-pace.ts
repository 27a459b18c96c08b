import type { Step } from './answer-steps.ts';
import type { FaultSpec } from './faults/fault-spec.ts';
import { grouped, tokensOf } from './tokens.ts';

const keepAliveComment = ': keepalive\n\n';

/** Steps before delta number `at`: its pause and the comments that pass the time. */
export function* beforeDelta(spec: FaultSpec, at: number): Generator<Step> {
  const { interval } = spec;
  if (at > 0 && interval !== undefined) yield interval;
  const comments = spec['keepalive-comments'] ?? 0;
  for (let count = 0; count < comments; count += 1) {
    yield keepAliveComment;
    if (interval !== undefined) yield interval;
  }
}

const reasoningDeltas = 10;
/** A delta per token up to here; longer texts come in larger pieces. */
const deltasByDefault = 200;

export function reasoningParts(reasoning: string): string[] {
  return grouped(tokensOf(reasoning), reasoningDeltas).map((group) => group.join(''));
}

/** The text's tokens, grouped by delta. */
export function textParts(text: string, spec: FaultSpec): string[][] {
  return grouped(tokensOf(text), spec.chunks ?? deltasByDefault);
}

/** The pause after each reasoning delta; null when the spec asks for none. */
export function reasoningPauseMs(spec: FaultSpec, deltas: number): number | null {
  const whole = spec['slow-reasoning'];
  return whole === undefined || deltas === 0 ? null : whole / deltas;
}

const argumentPieceChars = 12;

export function argumentParts(json: string): string[] {
  const parts: string[] = [];
  for (let at = 0; at < json.length; ) {
    let end = Math.min(at + argumentPieceChars, json.length);
    // Never splits a surrogate pair.
    const last = json.charCodeAt(end - 1);
    if (last >= 0xd800 && last < 0xdc00 && end < json.length) end += 1;
    parts.push(json.slice(at, end));
    at = end;
  }
  return parts;
}

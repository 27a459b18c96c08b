import { isObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import { waitIn } from './retry-after.ts';

/** Words and members of an upstream's error. */
export interface ErrorBody {
  message: string;
  members?: JsonObject;
  /** Where its format has a place for it. */
  retryAfterMs?: number;
}

/**
 * Ms that an error's body asks to wait, never below 0: by a member such as Google's `RetryInfo`, or by its words ("try
 * again in 1m30s"). Null when it does not. `wallMs` is wall-clock time.
 */
export function waitInBody({ message, members, retryAfterMs }: ErrorBody, wallMs: number): number | null {
  return retryAfterMs ?? waitInMembers(members, wallMs) ?? waitInText(message, wallMs);
}

/** Names of members, and ms of what they count. */
const waitUnitsMs: Readonly<Record<string, number>> = {
  retry_after_ms: 1,
  retry_after: 1_000,
  retry_after_seconds: 1_000,
  resets_in_seconds: 1_000,
};
const resetNames = ['resets_at', 'reset_at', 'X-RateLimit-Reset'] as const;
/** Members that hold such members: OpenRouter's `metadata.headers`. */
const holders = ['metadata', 'headers'] as const;
const detailsMax = 32;

function waitInMembers(members: JsonObject | undefined, wallMs: number): number | null {
  if (members === undefined) return null;
  for (const [name, unitMs] of Object.entries(waitUnitsMs)) {
    const count = numberIn(members[name]);
    if (count !== null) return count * unitMs;
  }
  for (const name of resetNames) {
    const value = members[name];
    const waitMs = typeof value === 'string' || typeof value === 'number' ? waitIn(String(value), wallMs) : null;
    if (waitMs !== null) return waitMs;
  }
  for (const name of holders) {
    const held = members[name];
    const waitMs = isObject(held) ? waitInMembers(held, wallMs) : null;
    if (waitMs !== null) return waitMs;
  }
  return retryInfoMs(members.details, wallMs);
}

/** `google.rpc.RetryInfo`, as its JSON form has it: `{retryDelay: "34.07s"}`. */
function retryInfoMs(details: JsonValue | undefined, wallMs: number): number | null {
  if (!Array.isArray(details)) return null;
  for (const detail of details.slice(0, detailsMax)) {
    if (isObject(detail) && typeof detail.retryDelay === 'string') return waitIn(detail.retryDelay, wallMs);
  }
  return null;
}

function numberIn(value: JsonValue | undefined): number | null {
  const number = typeof value === 'string' && /^\d{1,12}(\.\d+)?$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? number : null;
}

// Patterns run over words of the upstream's choosing: a bounded piece of them says it all.
const textCharsMax = 2_000;

const unit = '(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?![a-z])';
const part = `\\d{1,9}(?:\\.\\d{1,9})?\\s?${unit}`;
const waitPhrase = String.raw`\b(?:again|retry|retrying|wait|waiting|resets?)\b[^\d.;]{0,40}?`;
const duration = new RegExp(`${waitPhrase}(${part}(?:(?:,| and)?\\s?${part}){0,4})`, 'i');
const instant = new RegExp(
  String.raw`${waitPhrase}(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d))`,
  'i',
);

const unitsMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function waitInText(message: string, wallMs: number): number | null {
  const text = message.slice(0, textCharsMax);
  const lasting = duration.exec(text)?.[1];
  if (lasting === undefined) {
    const at = instant.exec(text)?.[1];
    return at === undefined ? null : waitIn(at, wallMs);
  }
  let sumMs = 0;
  for (const [, count, word = ''] of lasting.matchAll(/(\d+(?:\.\d+)?)\s?([a-z]+)/gi)) {
    const name = word.toLowerCase();
    sumMs += Number(count) * (name === 'ms' || name.startsWith('milli') ? 1 : unitsMs[name.charAt(0)]!);
  }
  return sumMs;
}

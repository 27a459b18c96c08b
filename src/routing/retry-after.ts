/** Headers of an upstream's answer; names are lower case. */
export interface HeaderSource {
  get(name: string): string | undefined;
  names(): Iterable<string>;
}

/** Longest header value looked at: dates and durations are shorter, anything else is noise. */
const valueCharsMax = 64;

/** Headers of an answer that are looked at. */
const namesMax = 100;

/** Ms that `retry-after-ms`, or else Retry-After (seconds or an HTTP-date, RFC 9110 §10.2.3), asks to wait; null: none. */
export function explicitWaitMs(headers: HeaderSource | null, wallMs: number): number | null {
  if (headers === null) return null;
  return millisecondsIn(headers.get('retry-after-ms')) ?? waitIn(headers.get('retry-after'), wallMs);
}

/**
 * Ms that an upstream asks us to wait, clamped to 1 s … 5 min; null when it says nothing readable. `wallMs` is
 * wall-clock time, `bodyMs` the wait that its body names. An explicit wait goes before the body's, and that one before
 * reset times. Among those, exhausted limits count, or else all; the latest decides.
 */
export function retryAfterMs(headers: HeaderSource, wallMs: number, bodyMs: number | null = null): number | null {
  const waitMs = explicitWaitMs(headers, wallMs) ?? bodyMs ?? latestResetMs(headers, wallMs);
  return waitMs === null ? null : coolingMs(waitMs);
}

/**
 * `x-ratelimit-reset-requests`, `anthropic-ratelimit-tokens-reset`, `ratelimit-reset`: vendors order the words as they
 * like. The same name with `remaining` says whether anything is left. `ratelimit` is the IETF's, of one or more limits.
 */
function latestResetMs(headers: HeaderSource, wallMs: number): number | null {
  let spentMs: number | null = null;
  let anyMs: number | null = null;
  for (const name of [...headers.names()].slice(0, namesMax)) {
    if (!/rate-?limit/.test(name)) continue;
    for (const { waitMs, isSpent } of resetsIn(name, headers, wallMs)) {
      anyMs = Math.max(anyMs ?? 0, waitMs);
      if (isSpent) spentMs = Math.max(spentMs ?? 0, waitMs);
    }
  }
  return spentMs ?? anyMs;
}

interface Reset {
  waitMs: number;
  /** Nothing is left until then. */
  isSpent: boolean;
}

function resetsIn(name: string, headers: HeaderSource, wallMs: number): Reset[] {
  if (name === 'ratelimit') return structuredResets(headers.get(name) ?? '');
  if (!name.includes('reset')) return [];
  const waitMs = waitIn(headers.get(name), wallMs);
  if (waitMs === null) return [];
  return [{ waitMs, isSpent: headers.get(name.replace('reset', 'remaining'))?.trim() === '0' }];
}

/** `"minute";r=0;t=30, "day";r=7;t=900`, or as drafts before the eighth had it: `limit=9, remaining=0, reset=30`. */
function structuredResets(value: string): Reset[] {
  const text = value.slice(0, structuredCharsMax);
  const limits = /\bt=/.test(text) ? text.split(',') : [text];
  return limits.flatMap((limit) => {
    const seconds = /\b(?:t|reset)=(\d{1,9})\b/.exec(limit)?.[1];
    if (seconds === undefined) return [];
    return [{ waitMs: Number(seconds) * 1_000, isSpent: /\b(?:r|remaining)=0\b/.test(limit) }];
  });
}

const structuredCharsMax = 1_000;

function millisecondsIn(value: string | undefined): number | null {
  const text = value?.trim();
  return text !== undefined && text.length <= valueCharsMax && decimal.test(text) ? Number(text) : null;
}

const decimal = /^\d+(\.\d+)?$/;
const decimals = /^\d+(\.\d+)?(, *\d+(\.\d+)?)*$/;
/** Beyond these a plain number is not a wait but a date: epoch seconds, epoch ms. */
const epochSecondsMin = 1e9;
const epochMsMin = 1e12;

/** Seconds, epoch seconds or ms, a duration such as `6m0s`, or a date, as ms from now; never below 0. */
export function waitIn(value: string | undefined, wallMs: number): number | null {
  const text = value?.trim();
  if (text === undefined || text === '' || text.length > valueCharsMax) return null;
  // A proxy may add a header of the same name.
  if (decimals.test(text)) {
    const number = Math.max(...text.split(',').map(Number));
    if (number >= epochMsMin) return Math.max(0, number - wallMs);
    if (number >= epochSecondsMin) return Math.max(0, number * 1_000 - wallMs);
    return number * 1_000;
  }
  const durationMs = durationIn(text);
  if (durationMs !== null) return durationMs;
  // Date.parse takes almost anything ("-1", "5 apples"): only what looks like a full date may pass.
  if (!/^(\d{4}-\d\d-\d\dT|[A-Z][a-z]{2,8},? )/.test(text)) return null;
  const dateMs = Date.parse(text);
  return Number.isNaN(dateMs) ? null : Math.max(0, dateMs - wallMs);
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `1s`, `6m0s`, `120ms`, `1h2m3.5s`: Go's way of writing durations, in ms; null when it is not one. */
function durationIn(text: string): number | null {
  const part = /(\d+(?:\.\d+)?)(ms|[smhd])/y;
  let sumMs = 0;
  while (part.lastIndex < text.length) {
    const [, count, unit = ''] = part.exec(text) ?? [];
    if (count === undefined) return null;
    sumMs += Number(count) * (unitMs[unit] ?? Number.NaN);
  }
  return sumMs;
}

const coolingMinMs = 1_000;
const coolingMaxMs = 5 * 60_000;
/** A 429 that does not say how long. */
const coolingDefaultMs = 5_000;

/** Ms to leave a rate-limited credential alone: what the upstream asked, within 1 s and 5 min. */
export function coolingMs(retryAfterMs: number | null): number {
  if (retryAfterMs === null || Number.isNaN(retryAfterMs)) return coolingDefaultMs;
  return Math.min(coolingMaxMs, Math.max(coolingMinMs, retryAfterMs));
}

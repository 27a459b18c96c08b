/** Headers of an upstream's answer; names are lower case. */
export interface HeaderSource {
  get(name: string): string | undefined;
}

/** Longest header value looked at: dates and durations are shorter, anything else is noise. */
const valueCharsMax = 64;

/** Pairs of "resets when" and "is anything left", as OpenAI and those like it, then Anthropic, name them. */
const limits = [
  ['x-ratelimit-reset-requests', 'x-ratelimit-remaining-requests'],
  ['x-ratelimit-reset-tokens', 'x-ratelimit-remaining-tokens'],
  ['x-ratelimit-reset', 'x-ratelimit-remaining'],
  // Cerebras and SambaNova.
  ['x-ratelimit-reset-tokens-minute', 'x-ratelimit-remaining-tokens-minute'],
  ['x-ratelimit-reset-requests-day', 'x-ratelimit-remaining-requests-day'],
  ['anthropic-ratelimit-requests-reset', 'anthropic-ratelimit-requests-remaining'],
  ['anthropic-ratelimit-tokens-reset', 'anthropic-ratelimit-tokens-remaining'],
  ['anthropic-ratelimit-input-tokens-reset', 'anthropic-ratelimit-input-tokens-remaining'],
  ['anthropic-ratelimit-output-tokens-reset', 'anthropic-ratelimit-output-tokens-remaining'],
] as const;

/**
 * Ms that an upstream asks us to wait, clamped to 1 s … 5 min; null when it says nothing readable. `wallMs` is
 * wall-clock time. An explicit wait (`retry-after-ms`, then Retry-After: seconds or an HTTP-date, RFC 9110 §10.2.3)
 * wins over reset times. Among those, exhausted limits count, or else all; the latest wins.
 */
export function retryAfterMs(headers: HeaderSource, wallMs: number): number | null {
  const asked = millisecondsIn(headers.get('retry-after-ms')) ?? waitIn(headers.get('retry-after'), wallMs);
  const waitMs = asked ?? latestResetMs(headers, wallMs);
  return waitMs === null ? null : coolingMs(waitMs);
}

function latestResetMs(headers: HeaderSource, wallMs: number): number | null {
  let spentMs: number | null = null;
  let anyMs: number | null = null;
  for (const [reset, remaining] of limits) {
    const waitMs = waitIn(headers.get(reset), wallMs);
    if (waitMs === null) continue;
    anyMs = Math.max(anyMs ?? 0, waitMs);
    if (headers.get(remaining)?.trim() === '0') spentMs = Math.max(spentMs ?? 0, waitMs);
  }
  return spentMs ?? anyMs;
}

function millisecondsIn(value: string | undefined): number | null {
  const text = value?.trim();
  return text !== undefined && text.length <= valueCharsMax && decimal.test(text) ? Number(text) : null;
}

const decimal = /^\d+(\.\d+)?$/;
/** Beyond these a plain number is not a wait but a date: epoch seconds, epoch ms. */
const epochSecondsMin = 1e9;
const epochMsMin = 1e12;

/** Seconds, epoch seconds or ms, a duration such as `6m0s`, or a date, as ms from now; never below 0. */
function waitIn(value: string | undefined, wallMs: number): number | null {
  const text = value?.trim();
  if (text === undefined || text === '' || text.length > valueCharsMax) return null;
  if (decimal.test(text)) {
    const number = Number(text);
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
    const match = part.exec(text);
    if (match === null) return null;
    sumMs += Number(match[1]) * unitMs[match[2]!]!;
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

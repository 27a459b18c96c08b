/** Thrown by the readers below; the message completes the sentence `status must be …`. */
export class BadFaultValue extends Error {}

/** Reads the text after `name=`; null when the name has no value. */
export type ValueReader<T> = (value: string | null) => T;

/** Place in an answer where a fault strikes. The fault decides `default`. */
export type Point = { unit: 'default' } | { unit: 'bytes' | 'events'; count: number };
/** Up and down in turns, each for `windowMs`. */
export interface Turns {
  windowMs: number;
  first: 'up' | 'down';
}

const durationUnitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };
const sizeUnitsBytes: Readonly<Record<string, number>> = { b: 1, kb: 1_024, mb: 1_048_576, gb: 1_073_741_824 };
const durationMaxMs = 3_600_000;

export const flag: ValueReader<true> = (value) => {
  if (value !== null && value !== 'true') throw new BadFaultValue('a bare word without a value');
  return true;
};

export const text: ValueReader<string> = (value) => {
  if (value === null) throw new BadFaultValue('followed by =text');
  return value;
};

export function textOr(fallback: string): ValueReader<string> {
  return (value) => value ?? fallback;
}

export function integer(min: number, max: number, fallback?: number): ValueReader<number> {
  return (value) => {
    if (value === null && fallback !== undefined) return fallback;
    const number = value !== null && /^\d{1,12}$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= min && number <= max)) throw new BadFaultValue(`an integer from ${min} to ${max}`);
    return number;
  };
}

export const share: ValueReader<number> = (value) => {
  const number = value !== null && /^(0|1|0?\.\d+|1\.0+)$/.test(value) ? Number(value) : Number.NaN;
  if (!(number >= 0 && number <= 1)) throw new BadFaultValue('a share from 0 to 1, such as 0.5');
  return number;
};

/** `500ms`, `2s`, `1m`; a bare number is ms. */
export function duration(fallbackMs?: number): ValueReader<number> {
  return (value) => {
    if (value === null && fallbackMs !== undefined) return fallbackMs;
    const [, count, unit = 'ms'] = /^(\d{1,9}(?:\.\d+)?)(ms|s|m)?$/.exec(value ?? '') ?? [];
    const ms = Number(count) * (durationUnitsMs[unit] ?? Number.NaN);
    if (!(ms <= durationMaxMs)) throw new BadFaultValue('a duration such as 500ms or 2s, at most 60m');
    return ms;
  };
}

/** `120`, `2kb`, `1gb`; a bare number is bytes. */
export function size(maxBytes: number, fallbackBytes?: number): ValueReader<number> {
  return (value) => {
    if (value === null && fallbackBytes !== undefined) return fallbackBytes;
    const [, count, unit = 'b'] = /^(\d{1,12})(b|kb|mb|gb)?$/i.exec(value ?? '') ?? [];
    const bytes = Number(count) * (sizeUnitsBytes[unit.toLowerCase()] ?? Number.NaN);
    if (!(bytes <= maxBytes)) throw new BadFaultValue(`a size such as 120 or 2kb, at most ${maxBytes} bytes`);
    return bytes;
  };
}

/** `120` or `2kb` of the body, or `3events` (SSE events). */
export const point: ValueReader<Point> = (value) => {
  if (value === null) return { unit: 'default' };
  const events = /^(\d{1,7})events?$/.exec(value);
  if (events) return { unit: 'events', count: Number(events[1]) };
  return { unit: 'bytes', count: size(sizeUnitsBytes.gb!)(value) };
};

/** `1/10ms`: bytes per interval. */
export const drip: ValueReader<{ bytes: number; everyMs: number }> = (value) => {
  const [, count = 0, every] = /^(\d{1,7})\/(\d{1,7}(?:ms|s)?)$/.exec(value ?? '') ?? [];
  const bytes = Number(count);
  if (every === undefined || bytes < 1) throw new BadFaultValue('bytes per interval, such as 1/10ms');
  return { bytes, everyMs: duration()(every) };
};

/** `3s`, or `3s/down` for the other half of the time. */
export const turns: ValueReader<Turns> = (value) => {
  const [length = '', first, ...rest] = (value ?? '').split('/');
  const windowMs = duration()(length);
  if (windowMs < 1 || rest.length > 0 || !(first === undefined || first === 'down')) {
    throw new BadFaultValue('a duration of at least 1ms, such as 3s or 3s/down');
  }
  return { windowMs, first: first ?? 'up' };
};

export function wordList<const Word extends string>(allowed: readonly Word[]): ValueReader<readonly Word[]> {
  return (value) => {
    const words = (value ?? '').split(',');
    const known = words.filter((word): word is Word => (allowed as readonly string[]).includes(word));
    if (known.length !== words.length) throw new BadFaultValue(`one or more of ${allowed.join(',')}`);
    return known;
  };
}

import { useEffect, useState } from 'react';
import { ago, count, exactUsd, instant, moment, short, span, usd } from './format.ts';

/** Shown for unknown values. */
export function None() {
  return <span className="text-faint">–</span>;
}

/** A number; where it is shortened, the exact one is its title. */
export function Count({ value }: { value: number | null | undefined }) {
  if (value == null) return <None />;
  const text = short(value);
  return text === count(value) ? text : <span title={count(value)}>{text}</span>;
}

export function Money({ value }: { value: number | null | undefined }) {
  return value == null ? <None /> : <span title={exactUsd(value)}>{usd(value)}</span>;
}

/** A duration in ms. */
export function Span({ ms }: { ms: number | null | undefined }) {
  return ms == null ? <None /> : span(ms);
}

/** How long ago, or how far ahead, an ISO instant is; its title says when. */
export function Ago({ at }: { at: string | number | null | undefined }) {
  const nowMs = useNowMs();
  if (at == null) return <None />;
  const atMs = typeof at === 'number' ? at : Date.parse(at);
  return (
    <time dateTime={new Date(atMs).toISOString()} title={instant(atMs)} className="whitespace-nowrap">
      {ago(atMs, nowMs)}
    </time>
  );
}

/** When something was, in a log: the time of today, with the day before. */
export function Moment({ at }: { at: string }) {
  const atMs = Date.parse(at);
  return (
    <time dateTime={at} title={`${instant(atMs)} (${ago(atMs, Date.now())})`} className="whitespace-nowrap">
      {moment(atMs, Date.now())}
    </time>
  );
}

const tickEveryMs = 10_000;
const listeners = new Set<(nowMs: number) => void>();
let ticker: ReturnType<typeof setInterval> | undefined;

/** The present, updated every ten seconds; one timer for the whole page. */
export function useNowMs(): number {
  const [nowMs, setNowMs] = useState(() => Date.now());
  useEffect(() => {
    listeners.add(setNowMs);
    ticker ??= setInterval(() => {
      for (const listener of listeners) listener(Date.now());
    }, tickEveryMs);
    return () => {
      listeners.delete(setNowMs);
      if (listeners.size > 0) return;
      clearInterval(ticker);
      ticker = undefined;
    };
  }, []);
  // A change of the last seconds would lie in the future of a time that is updated every ten.
  return Math.max(nowMs, Date.now());
}

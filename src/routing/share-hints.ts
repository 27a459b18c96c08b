import { type Clock, dayMs } from '../kernel/clock.ts';
import { every } from '../kernel/every.ts';
import { isObject, type JsonValue, objectIn, parsedJson } from '../kernel/json.ts';
import type { Health } from './health.ts';
import { createHealthHints, type HealthHint, type HealthHints } from './health-hints.ts';
import { answerKinds } from './lane.ts';

export interface HintWays {
  /** Name of the server, whose other processes get hints by `send`. */
  server: string;
  /** To the other processes of this server; null: there are none. */
  send: ((hints: readonly HealthHint[]) => void) | null;
  /** To the other replicas; null: there are none. */
  channel: { send(text: string): void; listen(take: (text: string) => void): void } | null;
}

/** How often hints are sent. */
const sendEveryMs = 100;

/**
 * From now on, until `stop`, others get what this process learns of upstreams, and it takes what other replicas have
 * learnt. `receive` takes what other processes of its server have learnt.
 */
export function shareHints(
  health: Pick<Health, 'states' | 'stateOf'>,
  clock: Clock,
  { server, send, channel }: HintWays,
): Pick<HealthHints, 'receive'> & { stop(): void } {
  const { news, receive } = createHealthHints(health, clock);
  const stop = every(sendEveryMs, () => {
    const hints = news();
    if (hints.length === 0) return;
    send?.(hints);
    channel?.send(JSON.stringify({ server, hints }));
  });
  channel?.listen((text) => {
    const received = hintsIn(text);
    if (received !== null && received.server !== server) receive(received.hints);
  });
  return { receive, stop };
}

/** Hints of one message; the rest is left out. */
const hintsMax = 1_000;
/** Most samples of a bucket: far above what two seconds bring. */
const samplesMax = 1_000_000;

/** Another replica may be of another version: what this one does not know is left out. */
function hintsIn(text: string): { server: string; hints: HealthHint[] } | null {
  const { server, hints } = objectIn(parsedJson(text));
  if (typeof server !== 'string' || !Array.isArray(hints)) return null;
  return { server, hints: hints.slice(0, hintsMax).filter(isHint) };
}

function isHint(value: unknown): value is HealthHint {
  if (!isObject(value) || typeof value.target !== 'string' || typeof value.credential !== 'string') return false;
  const { kind, why, forMs, firstTokenMs, length } = value;
  if (kind === 'open') return typeof why === 'string' && isTime(forMs);
  if (kind === 'cooling') return isTime(forMs);
  if (kind === 'pace') return isTime(firstTokenMs);
  if (kind === 'usual') return answerKinds.some((one) => one === value.of) && isCounts(value.counts);
  if (kind === 'vectors') return typeof length === 'number' && length > 0;
  return kind === 'back';
}

function isCounts(counts: JsonValue | undefined): boolean {
  return (
    Array.isArray(counts) && counts.every((count) => typeof count === 'number' && count >= 0 && count < samplesMax)
  );
}

function isTime(ms: unknown): boolean {
  return typeof ms === 'number' && ms >= 0 && ms <= dayMs;
}

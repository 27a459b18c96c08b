import { BriefSet, type Placed } from '../../kernel/brief.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { LoopInstant } from '../../kernel/loop-clock.ts';
import { withinMs } from '../../kernel/within-ms.ts';
import { answerMaxMs, createPatience, silentMaxMs } from '../patience.ts';
import { connectTimeoutMs, createRedisClient, destroyQuietly } from './redis-client.ts';

/** Answers of Redis to our commands; scripts answer lists of whole numbers and texts, which may be asked for as bytes. */
export type Reply = string | Buffer | number | null | readonly Reply[];

/** Commands of one connection that wait for an answer; more are not sent. */
const inFlightMax = 4_096;

/** A connection on which the oldest answer is so late is given up. */
const lostAfterMs = 2_000;

/** `RESP_TYPES.BLOB_STRING` of the client. */
const blobString = '$'.charCodeAt(0);

/** Why a command has no answer. `sent`: it may have been done nevertheless. */
export class NoReply extends Error {
  readonly sent: boolean;
  constructor(reason: string, sent: boolean) {
    super(reason);
    this.sent = sent;
  }
}

/** One connection that is never repaired: it works, is slow, or is over. Nothing is queued while it does not work. */
export type Wire = Awaited<ReturnType<typeof openWire>>;

interface Waiting extends Placed {
  sent: LoopInstant;
  overdue: boolean;
  fail(error: Error): void;
}

interface Client {
  connect(): Promise<unknown>;
  sendCommand(args: readonly (string | Buffer)[]): Promise<unknown>;
  destroy(): void;
}

export interface WireOptions {
  /** Form of texts in answers. */
  texts?: 'texts' | 'bytes';
  /** For one answer, however much else is answered meanwhile. */
  maxMs?: number;
}

/**
 * Connects, or rejects. `onOver` is called once when an established connection ends without our closing it. A command
 * is given up when nothing at all was answered for a while: Redis answers in order, so one that is only busy is heard.
 */
export async function openWire(
  url: string,
  clock: Clock,
  events: { onOver(reason: string): void; onFlowing(): void },
  { texts = 'texts', maxMs = answerMaxMs }: WireOptions = {},
) {
  let over = false;
  let established = false;
  const client = await createRedisClient({
    url,
    // Our own deadlines: one timer for all commands, not one AbortSignal each.
    commandOptions: { timeout: 0, ...(texts === 'bytes' && { typeMapping: { [blobString]: Buffer } }) },
  });
  client.on('error', (error: Error) => end(error.message));
  client.on('end', () => end('the connection was closed'));
  try {
    const connected = await withinMs(connectTimeoutMs, (client as Client).connect(), null);
    if (connected === null) throw new Error('connecting took too long');
  } catch (error) {
    over = true;
    destroyQuietly(client);
    throw error;
  }
  established = true;

  const patience = createPatience(clock);
  const waiting = new BriefSet<Waiting>();
  let overdue = 0;
  let timer: NodeJS.Timeout | null = null;

  function end(reason: string): void {
    if (over) return;
    over = true;
    if (!established) return;
    if (timer !== null) clearTimeout(timer);
    patience.stop();
    for (const one of waiting.values()) one.fail(new NoReply(reason, true));
    waiting.clear();
    destroyQuietly(client);
    events.onOver(reason);
  }

  function watch(): void {
    if (timer !== null || over) return;
    let leftMs = Number.POSITIVE_INFINITY;
    for (const one of waiting.values())
      leftMs = Math.min(leftMs, one.overdue ? lostInMs(one) : patience.leftMs(one.sent, maxMs));
    if (leftMs === Number.POSITIVE_INFINITY) return;
    // Answers that are there already, behind a long turn of the loop, are read before anything is given up.
    timer = setTimeout(() => setImmediate(giveUp), Math.max(1, leftMs));
    timer.unref();
  }

  const lostInMs = ({ sent }: Waiting) => sent.atMs + lostAfterMs - clock.monotonicMs();

  function giveUp(): void {
    timer = null;
    for (const one of waiting.values()) {
      if (one.overdue) {
        if (lostInMs(one) <= 0) return end('no answer for 2 s');
        continue;
      }
      if (patience.leftMs(one.sent, maxMs) > 0) continue;
      one.overdue = true;
      overdue += 1;
      one.fail(new NoReply(`no answer for ${silentMaxMs} ms`, true));
    }
    watch();
  }

  return {
    /** Rejects with NoReply, or with the error that Redis answered. */
    send(args: readonly (string | Buffer)[]): Promise<Reply> {
      if (over) return Promise.reject(new NoReply('not connected', false));
      if (waiting.size >= inFlightMax) return Promise.reject(new NoReply('too many commands wait', false));
      return new Promise<Reply>((resolve, reject) => {
        const one: Waiting = { sent: patience.now(), overdue: false, fail: reject, place: -1 };
        waiting.add(one);
        watch();
        const answered = (): boolean => {
          if (!waiting.delete(one)) return false;
          patience.answered();
          if (!one.overdue) return true;
          overdue -= 1;
          if (overdue === 0) events.onFlowing();
          return false;
        };
        (client as Client).sendCommand(args).then(
          (reply) => {
            if (!answered()) return;
            // Too late to be acted on, though no timer could say so: the ledger counts on this deadline.
            if (patience.leftMs(one.sent, maxMs) < 0) reject(new NoReply('the answer came late', true));
            else resolve(reply as Reply);
          },
          (error: Error) => {
            if (answered()) reject(error);
          },
        );
      });
    },
    /** An answer is overdue: asking for more would only wait. */
    slow: (): boolean => overdue > 0,
    destroy(): void {
      established = false;
      over = true;
      if (timer !== null) clearTimeout(timer);
      patience.stop();
      for (const one of waiting.values()) one.fail(new NoReply('closed', true));
      waiting.clear();
      destroyQuietly(client);
    },
  };
}

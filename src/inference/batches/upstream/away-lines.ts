import { setTimeout as pause } from 'node:timers/promises';
import type { ExpectedUse } from '../../../books/metering/batch-store.ts';
import { backoffMs } from '../../../kernel/backoff.ts';
import { dayMs } from '../../../kernel/clock.ts';
import type { Failure } from '../../../kernel/failure.ts';
import { atProvider, type BatchRun } from '../batch-parts.ts';
import type { LineCalls, LinesHeld } from '../line-calls.ts';
import type { StoredFile } from '../stored-files.ts';
import type { BatchOrder } from './batch-api.ts';
import type { BatchPart } from './batch-part.ts';
import { createFollower } from './follow-parts.ts';
import { addAhead, type GatheredLine, type GatheredLines, gatherLines } from './gather-lines.ts';
import { apiOf, clientOf, StoredParts } from './stored-parts.ts';
import { UpstreamTrouble } from './upstream-client.ts';

/** Which lines of a batch are not here. */
export interface AwayView {
  /** Some are or were at a provider. */
  isUsed(): boolean;
  /** It will go to a provider as soon as a limit allows it. */
  isWaiting(seq: number): boolean;
  partOf(id: number): BatchPart | null;
  /** Nobody can have charged answers of this part before this process had it. */
  isFresh(part: number): boolean;
}

/** Providers take up to a day, and mostly much less: later than this lines are asked from here. */
const leftMsMin = dayMs / 2;
const lookMsFirst = 250;
const lookMsMax = 60_000;
const lookMsOver = 1_000;
const lookGrowth = 1.5;
/** A provider may finish lines under way before it ends a cancelled batch. */
const cancelWaitMsMax = 15 * 60_000;
const limitWaitMsMin = 1_000;
const limitWaitMsMax = 30 * 60_000;
/** Where nobody knows when a limit frees. */
const limitWaitMsUsual = 60_000;
/** Gathering reads and converts every line: it takes a small part of the time. */
const gatherShare = 0.05;

/**
 * The lines of one batch that the batch APIs of providers answer, for less. Resumes what a process before this one left.
 */
export async function openAwayLines(run: BatchRun, input: StoredFile, over: AbortSignal) {
  const { batch, clock, signal, upstream } = run;
  const parts = new StoredParts(run);
  const look = createFollower(run, parts, over);
  const waiting = new Set<number>();
  /** Lines of each part with budgets of end users or tags. A process after this one reads them again. */
  const counted = new Map<number, readonly GatheredLine[]>();
  let waitingUntilMs = 0;
  let gatherMs = 0;
  let hasGathered = false;
  let isClosed = false;
  await parts.resume();

  function mayGo(): boolean {
    const { createdMs, deadlineMs } = batch;
    return upstream.isUsed() && deadlineMs - createdMs >= dayMs && deadlineMs - clock.wallMs() >= leftMsMin;
  }

  /** Sends as many of them as may be held, and lets the others wait where waiting helps. */
  async function send(gathered: GatheredLines): Promise<void> {
    // What one batch of an account is expected to use must be noted before another one asks what is left.
    const part = await run.holding.run(batch.account, null, () => hold(gathered));
    if (part !== null) await sendPart(run, parts, part, { before: 'unsent', over });
  }

  async function hold(gathered: GatheredLines): Promise<BatchPart | null> {
    const { place, content } = gathered;
    const expectedOfOthers = await run.store.expected(batch.account);
    const { held, count, refused } = await holdFirst(run.calls, batch.keyId, gathered, expectedOfOthers);
    const lines = gathered.lines.slice(0, count);
    if (refused !== null && mayWait(refused, count + parts.open().length)) {
      for (const { seq } of gathered.lines.slice(count)) waiting.add(seq);
      waitingUntilMs = clock.wallMs() + Math.max(gatherMs / gatherShare, waitMsOf(refused, clock.wallMs()));
    }
    if (held === null) {
      await run.files.withdraw(content);
      return null;
    }
    const counts = lines.filter(({ parts }) => parts.length > 0);
    const made = {
      place,
      lines: count,
      ...sumOf(lines),
      ...(counts.length > 0 && { hasBudgets: true }),
      sinceMs: clock.wallMs(),
      upstream: null,
      succeeded: 0,
      content: { id: content.id, bytes: lines.at(-1)!.endBytes, fileBytes: content.bytes },
    };
    const part = await parts.add(made, held, lines);
    counted.set(part.id, counts);
    return part;
  }

  return {
    isUsed: () => parts.all.length > 0,
    isWaiting: (seq: number) => waiting.has(seq),
    partOf: (id: number) => parts.all.find((part) => part.id === id) ?? null,
    isFresh: (part: number) => parts.isOurs(part),
    hasReturned: () => parts.returned().length > 0,
    /** They were taken, and charged: what was held for them is given back. */
    async taken(): Promise<void> {
      for (const part of parts.returned()) {
        await parts.end(part);
        counted.delete(part.id);
      }
    },
    /** Sends all lines that may go, as far as the limits of the account allow it now. */
    async submit(): Promise<void> {
      for (const part of parts.open()) {
        if (part.at === 'ready') await sendPart(run, parts, part, { before: 'maybe-sent', over });
      }
      const isNeeded = !hasGathered || waiting.size > 0;
      waiting.clear();
      if (!isNeeded || signal.aborted || over.aborted || !mayGo()) return;
      hasGathered = true;
      const beganMs = clock.monotonicMs();
      const ahead = new Map<string, number>();
      const unread = new Set<number>();
      for (const { id, hasBudgets } of [...parts.open(), ...parts.returned()]) {
        if (hasBudgets === true && !counted.has(id)) unread.add(id);
        for (const line of counted.get(id) ?? []) addAhead(ahead, line);
      }
      const all = await gatherLines(run, input, over, { ahead, unread, wait: (seq) => void waiting.add(seq) });
      gatherMs = clock.monotonicMs() - beganMs;
      waitingUntilMs = clock.wallMs() + Math.max(gatherMs / gatherShare, limitWaitMsUsual);
      for (const gathered of all) {
        const isSendable = !signal.aborted && !parts.closed.has(gathered.place.provider);
        await (isSendable ? send(gathered) : run.files.withdraw(gathered.content));
      }
    },
    /**
     * Follows what was sent, until answers were taken, or lines were given up, or waiting ones may go: true. False: nothing
     * is away any more, or nobody waits for it. Once the batch is over, what is away is cancelled.
     */
    async next(): Promise<boolean> {
      let lookMs = lookMsFirst;
      let overMs: number | null = null;
      while (!signal.aborted && !isClosed) {
        if (over.aborted) {
          waiting.clear();
          overMs ??= clock.monotonicMs();
          if (clock.monotonicMs() - overMs > cancelWaitMsMax) return false;
        }
        if (parts.open().length === 0 && waiting.size === 0) return false;
        let isTaken = false;
        for (const part of parts.open()) isTaken = (await look(part)) || isTaken;
        if (isTaken) return true;
        const leftMs = waiting.size === 0 ? Number.POSITIVE_INFINITY : waitingUntilMs - clock.wallMs();
        if (leftMs <= 0) return true;
        const wakes = over.aborted ? signal : AbortSignal.any([signal, over]);
        await pause(Math.min(lookMs, leftMs), undefined, { signal: wakes, ref: false }).catch(() => undefined);
        lookMs = over.aborted ? lookMsOver : Math.min(lookMsMax, lookMs * lookGrowth);
      }
      return false;
    },
    close(): void {
      isClosed = true;
      parts.close();
    },
  };
}

/** The limit frees with time, or with what the lines at a provider used in the end. */
function mayWait(refused: Failure, partsThere: number): boolean {
  if (refused.kind === 'quota-unavailable') return true;
  return refused.kind === 'quota-exceeded' && (refused.freeAtMs !== null || partsThere > 0);
}

function waitMsOf(refused: Failure, nowMs: number): number {
  const freeAtMs = refused.kind === 'quota-exceeded' ? refused.freeAtMs : null;
  if (freeAtMs === null) return limitWaitMsUsual;
  return Math.min(limitWaitMsMax, Math.max(limitWaitMsMin, freeAtMs - nowMs));
}

interface HeldFirst {
  /** Held for the first `count` lines; null: not even one may be held. */
  held: LinesHeld | null;
  count: number;
  /** Why the others may not; null: there are none. */
  refused: Failure | null;
}

/** Holds as many of these lines as the account may have now, from the first on. `before`: what others will use. */
async function holdFirst(
  calls: Pick<LineCalls, 'hold'>,
  keyId: string,
  { place, lines }: Pick<GatheredLines, 'place' | 'lines'>,
  before: ExpectedUse,
): Promise<HeldFirst> {
  const { alias, tier } = place;
  const helds: LinesHeld[] = [];
  let refused: Failure | null = null;
  let count = 0;
  // All of them, or else half of what is in question, as often as that makes sense.
  for (let more = lines.length; more > 0; ) {
    const { costMilli } = sumOf(lines.slice(count, count + more));
    // The last one may go beyond tokens and USD, which are known afterwards, as a request may.
    const { expected } = sumOf(lines.slice(0, count + more - 1));
    const answer = await calls.hold({ keyId, alias, tier, costMilli, expected: added(before, expected) });
    if (answer.kind === 'held') {
      helds.push(answer);
      count += more;
      if (refused === null) break;
    } else {
      refused = answer;
      if (answer.kind !== 'quota-exceeded') break;
    }
    more = more === 1 ? 0 : Math.ceil(more / 2);
  }
  const release = () => {
    for (const held of helds) held.release();
  };
  return { held: count === 0 ? null : { kind: 'held', release }, count, refused };
}

/** Sums the cost of these lines, and the use that is expected of them. */
function sumOf(lines: readonly GatheredLine[]): { costMilli: number; expected: ExpectedUse } {
  let costMilli = 0;
  let expected: ExpectedUse = { tokens: 0, usdNano: 0 };
  for (const line of lines) {
    costMilli += line.costMilli;
    expected = added(expected, line.expected);
  }
  return { costMilli, expected };
}

function added(a: ExpectedUse, b: ExpectedUse): ExpectedUse {
  return { tokens: a.tokens + b.tokens, usdNano: a.usdNano + b.usdNano };
}

const triesMax = 3;
const againPauses = { firstMs: 2_000, maxMs: 4_000 };

/**
 * Sends a part to its provider, or gives it up. `maybe-sent`: a process before this one may have done it, so the provider
 * is asked first; as it is after each try, for it may have heard of a try that failed.
 */
async function sendPart(
  run: BatchRun,
  parts: StoredParts,
  part: BatchPart,
  { before, over }: { before: 'unsent' | 'maybe-sent'; over: AbortSignal },
): Promise<void> {
  let mayHaveArrived = false;
  let why = 'it is no longer configured';
  for (let tries = 1; tries <= triesMax; tries++) {
    if (run.signal.aborted) return;
    const client = clientOf(run.upstream, part);
    if (client === null) break;
    try {
      const order = orderOf(run, part);
      const isTaken = (id: string) => run.upstream.taken.has(atProvider(part.place.provider, id));
      const found = before === 'maybe-sent' || mayHaveArrived ? await apiOf(part).find(client, order, isTaken) : null;
      if (found === null && over.aborted) {
        why = 'the batch is over';
        break;
      }
      part.isGuess = found !== null && apiOf(part).guesses === true;
      return await parts.sent(part, found ?? (await apiOf(part).begin(client, order)));
    } catch (error) {
      if (!(error instanceof UpstreamTrouble)) throw error;
      why = error.message;
      // A request that was refused began nothing.
      mayHaveArrived ||= error.status === null || error.status >= 500;
      if (error.final || tries === triesMax) break;
      await pause(backoffMs(tries, againPauses), undefined, { signal: run.signal }).catch(() => undefined);
    }
  }
  await parts.giveUp(part, why);
}

function orderOf({ batch, files }: BatchRun, part: BatchPart): BatchOrder {
  const { url, model, beta } = part.place;
  const { id, bytes } = part.content;
  const file = { id, bytes, tenant: batch.tenant };
  const content = { bytes, open: () => firstBytes(files.read(file), bytes) };
  const { lines, sinceMs } = part;
  return { name: `${batch.id}-${part.id}`, url, model, beta, content, lines, sinceMs };
}

/** Cuts a file after so many bytes. */
async function* firstBytes(content: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer> {
  let left = bytes;
  for await (const chunk of content) {
    yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) return;
  }
}

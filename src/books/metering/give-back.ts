import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../kernel/clock.ts';
import { requestIdAt } from '../../kernel/ids.ts';
import { zoneMonth } from '../ledger/zone-days.ts';
import { nanoUsd, scopesOf } from './counter-scope.ts';
import type { Counters } from './counters.ts';
import type { Ledger, UsageEvent } from './ledger.ts';
import type { ReplyStore, ReplyTake } from './reply-store.ts';
import { chargedUsd, repricedBack } from './reprice.ts';

/** Gives back the charges of jobs that failed after their request, each once, whichever process finds out. */
export interface GiveBack {
  /**
   * Remembers which request paid for a tenant's job. Resolves after the first try, and goes on for a minute where that
   * failed. Never rejects: a job that is not known stays charged.
   */
  paidBy(tenant: string, job: string, requestId: string): Promise<void>;
  /** The job came to nothing. False: nothing was given back now. Never rejects: the next look tries again. */
  failed(tenant: string, job: string): Promise<boolean>;
}

export interface GiveBackParts {
  ledger: Pick<Ledger, 'open' | 'close' | 'find' | 'flush' | 'reprice' | 'statements'>;
  counters: Pick<Counters, 'giveBack'>;
  /** Keeps both: jobs by request, and what is being given back by whom. */
  replies: Pick<ReplyStore, 'take' | 'keep' | 'release'>;
  bootId: string;
  clock: Clock;
  onTrouble(message: string): void;
}

/** The endpoint of the rows that give back. */
export const giveBackEndpoint = 'give-back';

const retentionMs = 30 * 24 * 3_600_000;
/** Pauses between tries of a write that failed, their number, and how many such writes wait at a time. */
const laterPauseMs = 1_000;
const laterTriesMax = 60;
const waitingMax = 1_000;
/** Rows that a crash left unfinished: nobody dies so often between two writes. */
const crashesMax = 8;

/**
 * A request is given back by a second row of the ledger with the negative amounts, at the same times: sums and windows
 * are then as if it had cost nothing. Where its month is closed, the sums of the next one have the row. One process at a
 * time may write it, until it is done. The next process looks for the row first.
 */
export function createGiveBack(parts: GiveBackParts): GiveBack {
  const { replies, bootId, clock, onTrouble } = parts;
  const later = createLater(onTrouble);

  const rowOf = (tenant: string, job: string, what: 'paid' | 'back', requestId: string) => ({
    scope: `${tenant} ${what}`,
    key: createHash('sha256').update(job).digest('base64url'),
    bodyHash: '',
    requestId,
    bootId,
    nowMs: clock.wallMs(),
    expiresMs: clock.wallMs() + retentionMs,
  });

  /** False: another try has to look whether it is kept, since the store gives back what it may have taken unanswered. */
  async function keepPayer(row: ReplyTake): Promise<boolean> {
    const taken = await replies.take(row);
    // In flight with its own id: an earlier try was not answered.
    const isOurs = taken.kind === 'taken' || (taken.kind === 'in-flight' && taken.requestId === row.requestId);
    if (isOurs) await replies.keep(row.scope, row.key, row.requestId, done);
    return !isOurs;
  }

  async function paidBy(tenant: string, job: string, requestId: string): Promise<void> {
    const row = rowOf(tenant, job, 'paid', requestId);
    try {
      await keepPayer(row);
    } catch {
      later('a job is not remembered', () => keepPayer(row));
    }
  }

  /** Otherwise nobody gives back the job before this process ends. */
  async function release({ scope, key, requestId }: ReplyTake): Promise<void> {
    const released = () => replies.release(scope, key, requestId).then(() => true);
    await released().catch(() => later('a failed job stays charged', released));
  }

  async function failed(tenant: string, job: string): Promise<boolean> {
    const payer = await payerIn(replies, rowOf(tenant, job, 'paid', ''));
    if (payer === null) return false;
    const row = rowOf(tenant, job, 'back', payer);
    if ((await replies.take(row)).kind !== 'taken') return false;
    try {
      const given = await giveBackPayer(parts, payer);
      if (given === 'not settled') await release(row);
      else await replies.keep(row.scope, row.key, payer, done);
      return given === 'given';
    } catch (error) {
      await release(row);
      throw error;
    }
  }

  const orReported = async <T>(what: string, otherwise: T, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      onTrouble(`give back: ${what}: ${String(error)}`);
      return otherwise;
    }
  };
  return {
    paidBy: (...args) => orReported('a job is not remembered', undefined, () => paidBy(...args)),
    failed: (...args) => orReported('a failed job stays charged for now', false, () => failed(...args)),
  };
}

/** Id of the request that paid for a job; null: none is remembered. */
async function payerIn(replies: GiveBackParts['replies'], row: ReplyTake): Promise<string | null> {
  const taken = await replies.take(row);
  if (taken.kind === 'taken') await replies.release(row.scope, row.key, '');
  return taken.kind === 'kept' ? taken.requestId : null;
}

/** Tries a step once a second for a minute, until it resolves with true. */
function createLater(onTrouble: (message: string) => void): (what: string, step: () => Promise<boolean>) => void {
  let waiting = 0;

  async function isDone(step: () => Promise<boolean>): Promise<boolean> {
    for (let tries = 1; tries <= laterTriesMax; tries += 1) {
      await pause(laterPauseMs, undefined, { ref: false });
      if (await step().catch(() => false)) return true;
    }
    return false;
  }

  return async (what, step) => {
    if (waiting >= waitingMax) return onTrouble(`give back: ${what}: too many wait`);
    waiting += 1;
    if (!(await isDone(step))) onTrouble(`give back: ${what}: the database could not be written for a minute`);
    waiting -= 1;
  };
}

/** Writes the opposite row of a request, once. */
async function giveBackPayer(parts: GiveBackParts, payer: string): Promise<'given' | 'given before' | 'not settled'> {
  const { ledger } = parts;
  const paid = await ledger.find(payer, null);
  if (paid === null) return 'not settled';
  const times = await openTimes(ledger, paid.atMs);
  let free: { requestId: string; atMs: number } | null = null;
  // A row from before the last closing has an earlier time.
  for (const atMs of times) {
    free = null;
    for (let crashes = 0; crashes < crashesMax && free === null; crashes++) {
      const requestId = giveBackId(payer, crashes, atMs);
      const before = await ledger.find(requestId, null);
      if (before !== null && before.class !== 'crashed') return 'given before';
      if (before === null) free = { requestId, atMs };
    }
  }
  if (free === null) throw new Error(`${payer} was left unfinished ${crashesMax} times`);
  await writeOpposite(parts, paid, free);
  return 'given';
}

/**
 * Times for the row of a request of `paidMs`: that one, and then the closing of each month that contains the time before
 * it. A closed statement never changes, so amounts of the last time are in the open ones.
 */
async function openTimes({ statements }: GiveBackParts['ledger'], paidMs: number): Promise<readonly number[]> {
  const times = [paidMs];
  const closed = (await statements.closed()).toSorted((a, b) => a.closedMs - b.closedMs);
  for (const { month, timeZone, closedMs } of closed) {
    const { fromMs, toMs } = zoneMonth(month, timeZone);
    const atMs = times.at(-1) ?? paidMs;
    if (fromMs <= atMs && atMs < toMs) times.push(closedMs);
  }
  return times;
}

async function writeOpposite(
  { ledger, counters, bootId, clock }: GiveBackParts,
  paid: UsageEvent,
  { requestId, atMs }: { requestId: string; atMs: number },
): Promise<void> {
  const { account, keyId, tenant, alias, tier, quotaMs, settledMs, furtherScopes } = paid;
  const booked = { account, keyId, tenant, alias, tier, quotaMs, furtherScopes, endpoint: giveBackEndpoint };
  // What a crash charges for it is nothing.
  await ledger.open({ ...booked, requestId, atMs, costMilli: 0, bootId, inputTokensEstimate: 0 });
  // Budgets get back what they counted, and sums what they show: a recalculation has changed these alone.
  const charged = { ...paid, atMs, costUsd: chargedUsd(paid) };
  const back = opposite(charged, requestId);
  ledger.close(back);
  await ledger.flush();
  const after = repricedBack(back, paid, 'the same');
  if (typeof after !== 'string') await ledger.reprice([{ before: back, after }], clock.wallMs());
  counters.giveBack({
    account,
    scopes: scopesOf(paid),
    costMilli: paid.costMilli,
    tokens: paid.inputTokens + paid.outputTokens,
    usdNano: nanoUsd(charged.costUsd),
    quotaMs,
    settledMs,
  });
}

const done = { status: 200, sealed: null };

/** Id with the time of the row, by which the ledger finds it: mostly that of the request that paid. */
function giveBackId(payer: string, crashes: number, atMs: number): string {
  const hex = createHash('sha256').update(`${payer} ${crashes}`).digest('hex');
  return `${requestIdAt(atMs)}-7${hex.slice(0, 3)}-8${hex.slice(3, 6)}-${hex.slice(6, 18)}`;
}

/** Every amount of the row below 0. */
function opposite(paid: UsageEvent, requestId: string): UsageEvent {
  const { costMilli, costUsd, videoSeconds, inputTokens, outputTokens, images, characters, audioMs } = paid;
  return {
    ...paid,
    requestId,
    clientRequestId: null,
    endpoint: giveBackEndpoint,
    ms: 0,
    firstTokenMs: null,
    costMilli: -costMilli,
    costUsd: costUsd === null ? null : -costUsd,
    inputTokens: -inputTokens,
    outputTokens: -outputTokens,
    images: -images,
    characters: -characters,
    audioMs: -audioMs,
    videoSeconds: -videoSeconds,
    route: { alias: paid.alias, attempts: [], of: paid.requestId },
  };
}

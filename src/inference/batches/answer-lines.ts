import { setTimeout as pause } from 'node:timers/promises';
import { backoffMs } from '../../kernel/backoff.ts';
import { type Failure, invalid } from '../../kernel/failure.ts';
import { factsOf } from '../../kernel/failure-facts.ts';
import { newRequestId } from '../../kernel/ids.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { Turn } from '../../kernel/sharing/turns.ts';
import { readBatchLine } from './batch-line.ts';
import { type BatchRun, resultContext } from './batch-parts.ts';
import { type KnownLine, knownLines } from './known-lines.ts';
import { createLineNotes, type LineNotes } from './line-notes.ts';
import { type LineEnd, resultLine } from './line-result.ts';
import { linesOf } from './lines-of.ts';
import { createLoopRoom } from './loop-room.ts';
import type { StoredFile } from './stored-files.ts';
import type { AwayView } from './upstream/away-lines.ts';
import { digestOf } from './upstream/gather-lines.ts';
import type { GivenAnswer } from './upstream/given-answer.ts';
import { lineBytesMax } from './upstream/upstream-client.ts';

/** Bytes of the lines of one batch that run together. A single line may have more. */
const runningBytesMax = 32 * 1024 * 1024;
/** A line whose providers failed is asked so often in all. */
const triesMax = 3;
const failedWaits = { firstMs: 5_000, maxMs: 10_000 };
/** Pause of an answer that is there, while the stores take nothing. */
const doorWaitMs = 1_000;
/** Rests of a limit: no longer, since it may have been raised meanwhile. */
const restMsMin = 200;
const restMsMax = 30_000;
/** A limit of one model or end user that refuses for so long, or so often, leaves these lines to a later pass. */
const leftMsMin = 10_000;
const refusalsMax = 3;
/** Pause between two passes, for each line of the batch: reading them all takes a small part of the time. */
const passMsOfLine = 2;
/** When we stop, lines that run have so long to end. */
const stopGraceMs = 3_000;

interface Work {
  run: BatchRun;
  away: AwayView;
  notes: LineNotes;
  /** Aborted when no further line is begun, for whatever reason. */
  halt: AbortSignal;
  /** Aborted when lines that run are left. */
  leaving: AbortController;
  /** Wall-clock ms: until then a limit refuses everything. */
  restUntilMs: number;
  /** Wall-clock ms until which a limit refuses lines of one model or end user. */
  barredUntilMs: Map<string, number>;
  /** Wall-clock ms at which the first line that is left to a later pass may go; infinite: none is. */
  leftUntilMs: number;
}

/**
 * Asks all lines that have no answer yet and are not at a provider, until there are none, or nobody wants them any more.
 * Answers that came back from a provider are taken in any case; `returned`: only those. Resolves to ms after which lines
 * that a limit of their model or end user refuses are to be asked by another call; null: there are none.
 */
export async function answerLines(
  run: BatchRun,
  input: StoredFile,
  { over, away, which }: { over: AbortSignal; away: AwayView; which: 'all' | 'returned' },
): Promise<number | null> {
  const { batch, signal, turns, calls, clock } = run;
  const broken = new AbortController();
  const halt = AbortSignal.any([signal, over, broken.signal]);
  const leaving = new AbortController();
  const notes = createLineNotes(run.store, run.lease);
  const untilMs = { restUntilMs: 0, barredUntilMs: new Map(), leftUntilMs: Number.POSITIVE_INFINITY };
  const work: Work = { run, away, notes, halt, leaving, ...untilMs };
  const unlisten = leaveWhen(signal, leaving);
  const running = new Set<Promise<void>>();
  let runningBytes = 0;
  let trouble: unknown = null;
  const begin = (line: Line) => {
    const bytes = line.bytes?.length ?? 0;
    runningBytes += bytes;
    const asking = answerLine(work, line)
      .catch((error: unknown) => {
        trouble ??= error;
        broken.abort();
      })
      .finally(() => {
        line.turn.giveBack();
        runningBytes -= bytes;
        running.delete(asking);
      });
    running.add(asking);
  };

  let seq = 0;
  try {
    const known = knownLines(run, away.isFresh);
    const room = createLoopRoom(run.waiting);
    for await (const bytes of linesOf(run.files.read(input), lineBytesMax)) {
      seq += 1;
      if (signal.aborted || trouble !== null) break;
      if (halt.aborted && !away.isUsed()) break;
      const before = await known(seq);
      if (before?.ended === true) continue;
      const isReturned = before?.returned === true;
      if (!isReturned && (which === 'returned' || halt.aborted || isAway(away, seq, before))) continue;
      const atOnceMax = Math.max(1, Math.min(calls.atOnceMax(batch.keyId), room.atOnceMax()));
      while (running.size > 0 && (running.size >= atOnceMax || runningBytes > runningBytesMax)) {
        await Promise.race(running);
      }
      // A line that is refused asks again, and the first that passes ends the rest.
      while (!isReturned && running.size > 0 && work.restUntilMs > clock.wallMs() && !halt.aborted) await rest(work);
      await room.wait();
      const turn = await turns.take(batch.tenant, isReturned ? signal : halt).catch(() => null);
      if (turn === null) continue;
      begin({ seq, bytes, before, turn });
    }
  } catch (error) {
    trouble ??= error;
    broken.abort();
  }
  await Promise.all(running);
  unlisten();
  if (trouble !== null) throw trouble;
  const leftMs = work.leftUntilMs - clock.wallMs();
  return leftMs === Number.POSITIVE_INFINITY ? null : Math.max(Math.min(leftMs, restMsMax), passMsOfLine * seq);
}

/** Aborts `leaving` a moment after the process stops. Returns what ends this. */
function leaveWhen(stop: AbortSignal, leaving: AbortController): () => void {
  let grace: NodeJS.Timeout | undefined;
  const stopped = () => {
    grace = setTimeout(() => leaving.abort(), stopGraceMs);
  };
  if (stop.aborted) stopped();
  else stop.addEventListener('abort', stopped, { once: true });
  return () => {
    clearTimeout(grace);
    stop.removeEventListener('abort', stopped);
  };
}

/** A line, and what was known of it when this process took the batch up. */
interface Line {
  seq: number;
  bytes: Buffer | null;
  before: KnownLine | null;
  turn: Turn;
}

/** Rests as long as a limit refuses everything, or until nothing is begun any more. */
async function rest({ run, halt, restUntilMs }: Work): Promise<void> {
  const ms = restUntilMs - run.clock.wallMs();
  if (ms > 0) await restFor(ms, halt);
}

function restFor(ms: number, signal: AbortSignal): Promise<void> {
  return pause(Math.min(ms, restMsMax), undefined, { signal, ref: false }).catch(() => undefined);
}

/** Asks one line until it has an answer. What was left or halted before is asked by the process that takes the batch up. */
async function answerLine(work: Work, entry: Line): Promise<void> {
  const { seq, bytes, before } = entry;
  const { run, notes, halt, leaving } = work;
  const { batch, clock, calls } = run;
  const isPaid = before?.isPaid === true;
  const isReturned = before?.returned === true;
  let requestId = isPaid || isReturned ? before.requestId : newRequestId(clock.wallMs());
  const line = readBatchLine(batch, bytes);

  const end = async (how: LineEnd) => {
    const context = { requestId, nowMs: clock.wallMs(), publicUrl: run.publicUrl() };
    const { state, text } = resultLine(batch.format, line.customId, how, context);
    const result = run.sealer.seal(Buffer.from(text), resultContext(batch, seq));
    await notes.end({ seq, requestId, state, result, bytes: result.length });
    run.onStored(batch.tenant, result.length);
  };
  if ('failure' in line) return end({ kind: 'unasked', why: line.failure });
  const { keyId, endpoint, headers } = batch;
  const { body } = line;
  const callOf = (given: GivenAnswer | null) => ({ requestId, keyId, endpoint, body, headers, isPaid, given });
  let given = isReturned ? await givenTo(work, seq, before) : null;
  const parts = partsOf(line.request);
  if (given === null && leave(work, parts)) return;
  const key = before === null ? digestOf(line.customId) : null;
  if (given === null && !(await notes.begin({ seq, requestId, key, part: null }))) {
    return end({ kind: 'unasked', why: invalid('custom_id', 'Another line of this batch has the same custom_id.') });
  }
  // An answer that is there is taken in any case.
  for (let tries = 1, refusals = 1; given !== null || !halt.aborted; ) {
    const outcome = await calls.run(callOf(given), leaving.signal);
    if (outcome === null || (given !== null && leaving.signal.aborted)) return;
    // Another answer of the model would be blocked as well, and be paid again.
    if (outcome.kind === 'answered' || outcome.failure.kind === 'guard-blocked') {
      work.restUntilMs = 0;
      return end(outcome);
    }
    if (given !== null) {
      if (!outcome.booked && waitsAtTheDoor.has(outcome.failure.kind)) {
        await restFor(doorWaitMs, leaving.signal);
        continue;
      }
      // It cannot be read as an answer of the model: the line is asked from here.
      given = null;
      if (outcome.booked) requestId = newRequestId(clock.wallMs());
      await notes.begin({ seq, requestId, key, part: null });
      continue;
    }
    const wait = waitOf(outcome.failure, tries, clock.wallMs());
    if (wait === null) return end(outcome);
    // Where other batches wait for the place of this one, all of its lines are left.
    const part = partOf(outcome.failure, parts) ?? (wait.whole && !run.hasRoom() ? wholeBatch : null);
    if (part !== null && (wait.ms >= leftMsMin || refusals++ >= refusalsMax)) {
      work.barredUntilMs.set(part, clock.wallMs() + Math.max(wait.ms, leftMsMin));
      leave(work, parts);
      return;
    }
    if (outcome.booked) {
      // The ledger has a separate row for every time that it was asked.
      requestId = newRequestId(clock.wallMs());
      await notes.begin({ seq, requestId, key: null, part: null });
    }
    if (wait.whole) work.restUntilMs = Math.max(work.restUntilMs, clock.wallMs() + wait.ms);
    else tries += 1;
    // It may wait for days: others need the place.
    entry.turn.giveBack();
    if (!wait.whole) await restFor(wait.ms, halt);
    await rest(work);
    entry.turn = await run.turns.take(batch.tenant, halt).catch(() => entry.turn);
  }
}

const wholeBatch = '';
/** Names of the lines that share its model, of those that share its end user and tags, and of all. */
type LineParts = readonly [model: string, user: string, all: typeof wholeBatch];

function partsOf({ model, models, user, safety_identifier, metadata, labels }: JsonObject): LineParts {
  const named = (...members: unknown[]) => digestOf(JSON.stringify(members));
  return [named(model, models), named(user, safety_identifier, metadata, labels), wholeBatch];
}

/** Name of the lines that the failure is about; null: all of the batch. */
function partOf(failure: Failure, [model, user]: LineParts): string | null {
  if (failure.kind === 'upstreams-limited' || failure.kind === 'no-target') return model;
  if (failure.kind !== 'quota-exceeded') return null;
  if (/^(tier|budget:model):/.test(failure.limit)) return model;
  return /^budget:(user|tag):/.test(failure.limit) ? user : null;
}

/** Leaves lines to a later pass where a limit refuses them for longer. */
function leave(work: Work, parts: LineParts): boolean {
  const untilMs = Math.max(...parts.map((part) => work.barredUntilMs.get(part) ?? 0));
  if (untilMs <= work.run.clock.wallMs()) return false;
  work.leftUntilMs = Math.min(work.leftUntilMs, untilMs);
  return true;
}

/** Refusals that pass. An answer that a provider gave, and that is paid, waits for its turn. */
const waitsAtTheDoor: ReadonlySet<Failure['kind']> = new Set(['quota-unavailable', 'overloaded']);

/** A provider has it, or it waits to go there. */
function isAway(away: AwayView, seq: number, before: KnownLine | null): boolean {
  return before === null ? away.isWaiting(seq) : before.part !== null;
}

/** Null when it is not kept any more, or its part of the batch is unknown. */
async function givenTo({ run, away }: Work, seq: number, { part }: KnownLine): Promise<GivenAnswer | null> {
  const { batch, store, sealer } = run;
  const sealed = await store.returnedLine(batch.id, seq);
  const body = sealed === null ? null : sealer.open(sealed, resultContext(batch, seq));
  const awayPart = part === null ? null : away.partOf(part);
  if (body === null || awayPart === null) return null;
  const { target, credential, share, provider } = awayPart.place;
  return { target, credential, share, batch: `${provider} ${awayPart.upstream}`, body };
}

/** Ms until the line is asked again; `whole`: no other line would pass before either. Null: it has failed. */
function waitOf(failure: Failure, tries: number, nowMs: number): { ms: number; whole: boolean } | null {
  switch (failure.kind) {
    case 'quota-exceeded':
      if (failure.freeAtMs === null) return null;
      return { ms: Math.max(restMsMin, failure.freeAtMs - nowMs), whole: true };
    case 'upstreams-limited':
    case 'no-target':
    case 'quota-unavailable':
    case 'overloaded':
      return { ms: Math.max(restMsMin, factsOf(failure, nowMs).retryAfterMs ?? 0), whole: true };
    case 'upstreams-failed':
      return tries < triesMax ? { ms: backoffMs(tries, failedWaits), whole: false } : null;
    default:
      return null;
  }
}

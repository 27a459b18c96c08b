import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type Failure, factsOf, invalid } from '../../kernel/failure.ts';
import { newRequestId } from '../../kernel/ids.ts';
import type { Turn } from '../../kernel/sharing/turns.ts';
import type { BegunLine } from '../../metering/batch-store.ts';
import { readBatchLine } from './batch-line.ts';
import { type BatchRun, lineBytesMax, resultContext } from './batch-parts.ts';
import { createLineNotes, type LineNotes } from './line-notes.ts';
import { type LineEnd, resultLine } from './line-result.ts';
import { linesOf } from './lines-of.ts';
import { createLoopRoom } from './loop-room.ts';
import type { StoredFile } from './stored-files.ts';

/** Of the lines of one batch that run at one time, but for a single one. */
const runningBytesMax = 32 * 1024 * 1024;
/** A line whose providers failed is asked so often in all. */
const triesMax = 3;
const failedWaitMs = 5_000;
/** Rests of a limit: no longer, since it may have been raised meanwhile. */
const restMsMin = 200;
const restMsMax = 30_000;
/** How often it is looked whether somebody has cancelled it. */
const lookIntervalMs = 1_000;
/** When we stop, lines that run have so long to end. */
const stopGraceMs = 3_000;
const rowsAtOnce = 500;

/** Why no further line is begun. */
type Halt = 'cancelled' | 'expired' | 'aborted';

interface Work {
  run: BatchRun;
  notes: LineNotes;
  /** Aborted when no further line is begun, for whatever reason. */
  halt: AbortController;
  /** Aborted when lines that run are left. */
  leaving: AbortController;
  /** Wall-clock ms: until then a limit refuses everything. */
  restUntilMs: number;
}

/** Asks all lines that have no answer yet, until there are none, or nobody wants them any more. */
export async function answerLines(run: BatchRun, input: StoredFile): Promise<void> {
  const { batch, signal, turns, calls } = run;
  const halt = new AbortController();
  const leaving = new AbortController();
  const notes = createLineNotes(run.store, run.lease);
  const work: Work = { run, notes, halt, leaving, restUntilMs: 0 };
  let grace: NodeJS.Timeout | null = null;
  const aborted = () => {
    halt.abort('aborted');
    grace = setTimeout(() => leaving.abort(), stopGraceMs);
  };
  signal.addEventListener('abort', aborted, { once: true });
  if (signal.aborted) aborted();
  const look = async () => {
    const over = await whyOver(run);
    if (over !== null) halt.abort(over);
  };
  await look();
  const looking = setInterval(() => void look(), lookIntervalMs);

  const running = new Set<Promise<void>>();
  let runningBytes = 0;
  let trouble: unknown = null;
  const begin = (line: Line, turn: Turn) => {
    const bytes = line.bytes?.length ?? 0;
    runningBytes += bytes;
    const asking = answerLine(work, line)
      .catch((error: unknown) => {
        trouble ??= error;
        halt.abort('aborted');
      })
      .finally(() => {
        turn.giveBack();
        runningBytes -= bytes;
        running.delete(asking);
      });
    running.add(asking);
  };

  try {
    const known = knownLines(run);
    const room = createLoopRoom(run.waiting);
    let seq = 0;
    for await (const bytes of linesOf(run.files.read(input), lineBytesMax)) {
      seq += 1;
      if (halt.signal.aborted) break;
      const before = await known(seq);
      if (before?.ended === true) continue;
      const atOnceMax = Math.max(1, Math.min(calls.atOnceMax(batch.keyId), room.atOnceMax()));
      while (running.size > 0 && (running.size >= atOnceMax || runningBytes > runningBytesMax)) {
        await Promise.race(running);
      }
      await rest(work);
      await room.wait();
      const turn = await turns.take(batch.tenant, halt.signal).catch(() => null);
      if (turn === null) break;
      begin({ seq, bytes, before }, turn);
    }
  } catch (error) {
    trouble ??= error;
    halt.abort('aborted');
  }
  await Promise.all(running);
  clearInterval(looking);
  if (grace !== null) clearTimeout(grace);
  signal.removeEventListener('abort', aborted);
  if (trouble !== null) throw trouble;
}

async function whyOver({ batch, store, clock }: BatchRun): Promise<Halt | null> {
  if (clock.wallMs() >= batch.deadlineMs) return 'expired';
  const now = await store.findBatch(batch.tenant, batch.id, clock.wallMs()).catch(() => null);
  return now !== null && now.cancellingMs !== null ? 'cancelled' : null;
}

/** A line, and what was known of it when this process took the batch up. */
interface Line {
  seq: number;
  bytes: Buffer | null;
  before: KnownLine | null;
}

interface KnownLine extends BegunLine {
  /** The ledger charges the request that was made for it. */
  isPaid: boolean;
}

/** What is known of a line; asked in the order of the lines. */
function knownLines({ batch, store, charged }: BatchRun): (seq: number) => Promise<KnownLine | null> {
  let page: KnownLine[] = [];
  let last = 0;
  let isAll = false;
  return async (seq) => {
    while (!isAll && last < seq) {
      const rows = await store.lines(batch.id, last, rowsAtOnce);
      const open = rows.filter(({ ended }) => !ended).map(({ requestId }) => requestId);
      const paid = open.length === 0 ? null : await charged(batch.account, open);
      page = rows.map((row) => ({ ...row, isPaid: paid?.has(row.requestId) === true }));
      last = page.at(-1)?.seq ?? last;
      isAll = rows.length < rowsAtOnce;
    }
    while (page.length > 0 && page[0]!.seq < seq) page.shift();
    return page[0]?.seq === seq ? page[0] : null;
  };
}

/** Rests as long as a limit refuses everything, or until nothing is begun any more. */
async function rest({ run, halt, restUntilMs }: Work): Promise<void> {
  const ms = restUntilMs - run.clock.wallMs();
  if (ms > 0) await restFor(ms, halt.signal);
}

function restFor(ms: number, signal: AbortSignal): Promise<void> {
  return pause(Math.min(ms, restMsMax), undefined, { signal, ref: false }).catch(() => undefined);
}

/** Asks one line until it has an answer. What was left or halted before is asked by whoever takes the batch up. */
async function answerLine(work: Work, { seq, bytes, before }: Line): Promise<void> {
  const { run, notes, halt, leaving } = work;
  const { batch, clock, calls } = run;
  const isPaid = before?.isPaid === true;
  let requestId = isPaid ? before.requestId : newRequestId(clock.wallMs());
  const line = readBatchLine(batch, bytes);

  const end = async (how: LineEnd) => {
    const context = { requestId, nowMs: clock.wallMs(), publicUrl: run.publicUrl() };
    const { state, text } = resultLine(batch.format, line.customId, how, context);
    const result = run.sealer.seal(Buffer.from(text), resultContext(batch, seq));
    await notes.end({ seq, requestId, state, result, bytes: result.length });
  };
  if ('failure' in line) return end({ kind: 'unasked', why: line.failure });
  const key = before === null ? digestOf(line.customId) : null;
  if (!(await notes.begin({ seq, requestId, key }))) return end({ kind: 'unasked', why: doubled });

  for (let tries = 1; !halt.signal.aborted; ) {
    const { keyId, endpoint, headers } = batch;
    const call = { requestId, keyId, endpoint, body: line.body, headers, isPaid };
    const outcome = await calls.run(call, leaving.signal);
    if (outcome === null) return;
    if (outcome.kind === 'answered') return end(outcome);
    const wait = waitOf(outcome.failure, tries, clock.wallMs());
    if (wait === null) return end(outcome);
    if (outcome.booked) {
      // The ledger has a row of its own for every time that it was asked.
      requestId = newRequestId(clock.wallMs());
      await notes.begin({ seq, requestId, key: null });
    }
    if (wait.whole) {
      work.restUntilMs = Math.max(work.restUntilMs, clock.wallMs() + wait.ms);
    } else {
      tries += 1;
      await restFor(wait.ms, halt.signal);
    }
    await rest(work);
  }
}

const doubled = invalid('custom_id', 'Another line of this batch has the same custom_id.');

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
      return tries < triesMax ? { ms: failedWaitMs * tries, whole: false } : null;
    default:
      return null;
  }
}

function digestOf(customId: string): string {
  return createHash('sha256').update(customId).digest('base64url');
}

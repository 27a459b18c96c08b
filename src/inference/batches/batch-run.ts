import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../kernel/clock.ts';
import { type Failure, factsOf, invalid } from '../../kernel/failure.ts';
import { newRequestId } from '../../kernel/ids.ts';
import type { Lease } from '../../kernel/leased-jobs.ts';
import type { Sealer } from '../../kernel/seal.ts';
import type { Turn, Turns } from '../../kernel/sharing/turns.ts';
import type { BatchEnd, BatchEnding, BatchStore, BegunLine } from '../../metering/batch-store.ts';
import { type Batch, type BatchError, sealFacts } from './batch-facts.ts';
import { readBatchLine } from './batch-line.ts';
import type { LineCalls } from './line-calls.ts';
import { createLineNotes, type LineNotes } from './line-notes.ts';
import { type LineEnd, resultLine } from './line-result.ts';
import { linesOf } from './lines-of.ts';
import { createLoopRoom } from './loop-room.ts';
import { type StoredFile, type StoredFiles, UnreadableFile } from './stored-files.ts';

export interface BatchParts {
  store: BatchStore;
  files: StoredFiles;
  calls: LineCalls;
  /** Places for lines of all batches of this process, a tenant's share of them each. */
  turns: Turns;
  /** Which of these requests the ledger charges, or will. */
  charged(account: string, requestIds: readonly string[]): Promise<ReadonlySet<string>>;
  sealer: Sealer;
  clock: Clock;
  retentionMs(): number;
  publicUrl(): string | undefined;
  /** Callers of this process who wait for an answer now. */
  waiting(): number;
}

interface BatchRun extends BatchParts {
  batch: Batch;
  lease: Lease;
  /** Lost to another process, or we stop. */
  signal: AbortSignal;
}

/** Lines of one batch. */
export const linesMax = 100_000;
/** Of one line. */
export const lineBytesMax = 8 * 1024 * 1024;
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
const resultsAtOnce = 32;

/** Purposes of files that batches make. */
export const outputPurpose = 'batch_output';
export const ownPurpose = 'message_batch';

/** Works at a batch until its end, or until it is aborted. Rejects when a store fails: then it is taken up again. */
export async function runBatch(run: BatchRun): Promise<void> {
  try {
    await runToEnd(run);
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    await failed(run, { code: 'file_unreadable', message: 'Its input file cannot be read any more.', line: null });
  }
}

async function runToEnd(run: BatchRun): Promise<void> {
  const { batch, store, lease, files, clock, signal } = run;
  const input = await files.find(batch.tenant, batch.inputFile);
  if (input === null) return failed(run, { code: 'file_not_found', message: 'Its input file is gone.', line: null });
  if (batch.total === null) {
    const counted = await countLines(run, input);
    if (counted === null) return;
    if (typeof counted !== 'number') return failed(run, counted);
    batch.total = counted;
    if (!(await store.counted(lease, counted, clock.wallMs()))) return;
  }
  if (batch.finalizingMs === null) await answerLines(run, input);
  if (signal.aborted) return;
  await finish(run, input);
}

/** Null when it is aborted. */
async function countLines({ files, signal }: BatchRun, input: StoredFile): Promise<number | BatchError | null> {
  let count = 0;
  for await (const _ of linesOf(files.read(input), lineBytesMax)) {
    count += 1;
    if (signal.aborted) return null;
    if (count > linesMax) {
      return { code: 'too_many_lines', message: `A batch may have ${linesMax} lines.`, line: linesMax + 1 };
    }
  }
  return count === 0 ? { code: 'empty_file', message: 'The input file has no lines.', line: null } : count;
}

/** What was answered before is kept. */
async function failed(run: BatchRun, error: BatchError): Promise<void> {
  const { metadata, window, headers, outputKeptForMs, id } = run.batch;
  const facts = sealFacts(run.sealer, { metadata, window, headers, outputKeptForMs, errors: [error] }, id);
  const now = await run.store.findBatch(run.batch.tenant, id, run.clock.wallMs());
  if (now !== null) await end(run, 'failed', { ...(await resultFiles(run, now, null)), facts });
}

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
async function answerLines(run: BatchRun, input: StoredFile): Promise<void> {
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

function resultContext({ tenant, id }: Batch, seq: number): string {
  return JSON.stringify([tenant, id, seq]);
}

/** Writes the files of results, and ends the batch. */
async function finish(run: BatchRun, input: StoredFile): Promise<void> {
  const { batch, store, lease, clock } = run;
  if (!(await store.finalizing(lease, clock.wallMs()))) return;
  const now = await store.findBatch(batch.tenant, batch.id, clock.wallMs());
  if (now === null) return;
  const unanswered = batch.total! - now.succeeded - now.errored;
  const ending: BatchEnding = now.cancellingMs !== null ? 'cancelled' : unanswered > 0 ? 'expired' : 'completed';
  if (ending === 'expired' && clock.wallMs() < batch.deadlineMs) throw new Error('lines of it were left');
  const gaps = unanswered > 0 ? { why: ending as 'cancelled' | 'expired', input } : null;
  await end(run, ending, { ...(await resultFiles(run, now, gaps)), facts: null });
}

/** Lines that were never asked, and why; null: the results tell of those alone that were answered. */
type Gaps = { why: 'cancelled' | 'expired'; input: StoredFile } | null;

/** The end of the batch completes them: nobody sees those of a process that died before it. */
async function resultFiles(
  run: BatchRun,
  { format, succeeded, errored }: Pick<Batch, 'format' | 'succeeded' | 'errored'>,
  gaps: Gaps,
): Promise<Pick<BatchEnd, 'outputFile' | 'errorFile'>> {
  const write = (which: Which, name: string) => writeResults(run, { which, name, gaps });
  if (format === 'anthropic') return { outputFile: await write('all', 'results'), errorFile: null };
  return {
    outputFile: succeeded > 0 ? await write('succeeded', 'output') : null,
    errorFile: errored > 0 || gaps !== null ? await write('errored', 'error') : null,
  };
}

type Which = 'succeeded' | 'errored' | 'all';

interface Results {
  which: Which;
  /** At the end of the file's name. */
  name: string;
  gaps: Gaps;
}

async function writeResults(run: BatchRun, results: Results): Promise<string> {
  const { batch, files } = run;
  const file = {
    purpose: batch.format === 'openai' ? outputPurpose : ownPurpose,
    name: `${batch.id}_${results.name}.jsonl`,
    keptForMs: batch.outputKeptForMs,
  };
  const { id } = await files.write(batch.tenant, file, resultsOf(run, results));
  return id;
}

/** In the order of the lines. */
async function* resultsOf(run: BatchRun, { which, gaps }: Results): AsyncGenerator<Buffer> {
  const { batch, files, clock } = run;
  const isWanted = (state: 'succeeded' | 'errored') => which === 'all' || which === state;
  const answered = answeredLines(run);
  if (gaps === null || which === 'succeeded') {
    for await (const { state, text } of answered) if (isWanted(state)) yield text;
    return;
  }
  let next = await answered.next();
  let seq = 0;
  for await (const bytes of linesOf(files.read(gaps.input), lineBytesMax)) {
    seq += 1;
    if (!next.done && next.value.seq === seq) {
      if (isWanted(next.value.state)) yield next.value.text;
      next = await answered.next();
      continue;
    }
    const { customId } = readBatchLine(batch, bytes);
    const context = { requestId: newRequestId(clock.wallMs()), nowMs: clock.wallMs() };
    yield Buffer.from(`${resultLine(batch.format, customId, { kind: 'unasked', why: gaps.why }, context).text}\n`);
  }
}

async function* answeredLines({ batch, store, sealer }: BatchRun) {
  for (let after = 0; ; ) {
    const rows = await store.results(batch.id, after, resultsAtOnce);
    for (const { seq, state, result } of rows) {
      const text = sealer.open(result, resultContext(batch, seq));
      if (text === null) throw new Error('its results were sealed with another storage.secret');
      yield { seq, state, text: Buffer.concat([text, lineEnd]) };
      after = seq;
    }
    if (rows.length < resultsAtOnce) return;
  }
}

const lineEnd = Buffer.from('\n');

async function end(
  { batch, store, lease, files, clock, retentionMs }: BatchRun,
  ending: BatchEnding,
  results: Pick<BatchEnd, 'outputFile' | 'errorFile' | 'facts'>,
): Promise<void> {
  const atMs = clock.wallMs();
  await store.end(lease, { ending, atMs, expiresMs: atMs + retentionMs(), ...results });
  // Its caller never saw it as a file.
  if (batch.format === 'anthropic') await files.remove(batch.tenant, batch.inputFile);
  while ((await store.removeLines(rowsAtOnce)) > 0);
}

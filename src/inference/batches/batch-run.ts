import { setTimeout as pause } from 'node:timers/promises';
import type { BatchEnd, BatchEnding } from '../../books/metering/batch-store.ts';
import { JobRests } from '../../kernel/leased-jobs.ts';
import { answerLines } from './answer-lines.ts';
import { type Batch, type BatchError, madeWith, sealFacts } from './batch-facts.ts';
import type { BatchRun } from './batch-parts.ts';
import { linesOf } from './lines-of.ts';
import { type StoredFile, UnreadableFile } from './stored-files.ts';
import { openAwayLines } from './upstream/away-lines.ts';
import { lineBytesMax } from './upstream/upstream-client.ts';
import { type Gaps, type Which, writeResults } from './write-results.ts';

/** Lines of one batch. */
export const linesMax = 100_000;
const rowsAtOnce = 500;

/**
 * Works at a batch until its end, or until it is aborted. Rejects when a store fails, or with a `JobRests` where its lines
 * wait for a limit and other batches for its place: then it is taken up again.
 */
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
  if (batch.finalizingMs === null) await answerAll(run, input);
  if (signal.aborted) return;
  await finish(run, input);
}

/** Asks every line, here or by the batch APIs of providers, which are followed meanwhile. */
async function answerAll(run: BatchRun, input: StoredFile): Promise<void> {
  const { over, stop } = await watchEnd(run);
  const away = await openAwayLines(run, input, over).catch((error: unknown) => {
    stop();
    throw error;
  });
  try {
    for (let goesOn = true; goesOn && !run.signal.aborted; ) {
      if (away.hasReturned()) {
        await answerLines(run, input, { over, away, which: 'returned' });
        if (run.signal.aborted) return;
        await away.taken();
      }
      await away.submit();
      const found = new AbortController();
      const following = away.next();
      // Answering may reject first.
      following.then((goes) => goes && found.abort()).catch(() => found.abort());
      const wakes = AbortSignal.any([run.signal, over, found.signal]);
      for (;;) {
        const leftMs = await answerLines(run, input, { over, away, which: 'all' });
        if (leftMs === null || wakes.aborted) break;
        if (!run.hasRoom() && !away.isUsed()) throw new JobRests(leftMs);
        await pause(leftMs, undefined, { signal: wakes, ref: false }).catch(() => undefined);
        if (wakes.aborted) break;
      }
      goesOn = await following;
    }
  } finally {
    stop();
    away.close();
  }
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

/** Ends the batch as failed. Earlier answers are kept. */
async function failed(run: BatchRun, error: BatchError): Promise<void> {
  const { id } = run.batch;
  const facts = sealFacts(run.sealer, { ...madeWith(run.batch), errors: [error] }, id);
  const now = await run.store.findBatch(run.batch.tenant, id, run.clock.wallMs());
  if (now !== null) await end(run, 'failed', { ...(await resultFiles(run, now, null)), facts });
}

/** Writes the files of results, and ends the batch. */
async function finish(run: BatchRun, input: StoredFile): Promise<void> {
  const { batch, store, lease, clock } = run;
  if (!(await store.finalizing(lease, clock.wallMs()))) return;
  const now = await store.findBatch(batch.tenant, batch.id, clock.wallMs());
  if (now === null) return;
  const unanswered = (batch.total ?? 0) - now.succeeded - now.errored;
  const ending: BatchEnding = now.cancellingMs !== null ? 'cancelled' : unanswered > 0 ? 'expired' : 'completed';
  if (ending === 'expired' && clock.wallMs() < batch.deadlineMs) throw new Error('lines of it were left');
  const gaps = unanswered > 0 ? { why: ending as 'cancelled' | 'expired', input } : null;
  await end(run, ending, { ...(await resultFiles(run, now, gaps)), facts: null });
}

/** The end of the batch completes them: nobody sees those of a process that died before it. */
async function resultFiles(
  run: BatchRun,
  { format, succeeded, errored }: Pick<Batch, 'format' | 'succeeded' | 'errored'>,
  gaps: Gaps,
): Promise<Pick<BatchEnd, 'outputFile' | 'errorFile'>> {
  const write = (which: Which, name: string) => writeResults(run, { which, name, gaps });
  if (format !== 'openai') return { outputFile: await write('all', 'results'), errorFile: null };
  return {
    outputFile: succeeded > 0 ? await write('succeeded', 'output') : null,
    errorFile: errored > 0 || gaps !== null ? await write('errored', 'error') : null,
  };
}

async function end(
  { batch, store, lease, files, clock, booked, retentionMs }: BatchRun,
  ending: BatchEnding,
  results: Pick<BatchEnd, 'outputFile' | 'errorFile' | 'facts'>,
): Promise<void> {
  // A reader of its end finds what it cost, at every process.
  await booked();
  const atMs = clock.wallMs();
  await store.end(lease, { ending, atMs, expiresMs: atMs + retentionMs(), ...results });
  // Its caller never saw it as a file.
  if (batch.format === 'anthropic') await files.remove(batch.tenant, batch.inputFile);
  while ((await store.removeLines(rowsAtOnce)) > 0);
}

/** Why nobody wants further lines of a batch. */
type Over = 'cancelled' | 'expired';

/** How often it is looked whether its caller has cancelled it: less often in a batch that takes hours. */
const lookMsFirst = 1_000;
const lookMsMax = 10_000;
const lookGrowth = 1.1;

/** Aborted, with an `Over`, once nobody wants further lines of the batch. Looked at once before it resolves. */
async function watchEnd(run: BatchRun): Promise<{ over: AbortSignal; stop(): void }> {
  const watched = new AbortController();
  const look = async () => {
    const why = await whyOver(run);
    if (why !== null) watched.abort(why);
  };
  let timer: NodeJS.Timeout;
  const lookAgain = (afterMs: number) => {
    timer = setTimeout(() => {
      void look();
      lookAgain(Math.min(lookMsMax, afterMs * lookGrowth));
    }, afterMs);
  };
  await look();
  lookAgain(lookMsFirst);
  return { over: watched.signal, stop: () => clearTimeout(timer) };
}

async function whyOver({ batch, store, clock }: BatchRun): Promise<Over | null> {
  if (clock.wallMs() >= batch.deadlineMs) return 'expired';
  const now = await store.findBatch(batch.tenant, batch.id, clock.wallMs()).catch(() => null);
  return now !== null && now.cancellingMs !== null ? 'cancelled' : null;
}

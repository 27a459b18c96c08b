import type { ReturnedLine } from '../../../books/metering/batch-store.ts';
import { type BatchRun, resultContext } from '../batch-parts.ts';
import { LeaseLost } from '../line-notes.ts';
import type { BatchProgress } from './batch-api.ts';
import { type BatchPart, lineNamed } from './batch-part.ts';
import { apiOf, clientOf, type StoredParts } from './stored-parts.ts';
import { type UpstreamClient, UpstreamTrouble } from './upstream-client.ts';

/** Lines that are given up and asked one by one may be paid twice: first a fault has so long to pass, by its status. */
const giveUpMs = new Map<number | null, number>([
  // A key is refused until its owner mends it.
  [401, 3_600_000],
  [403, 3_600_000],
  // What is gone mostly is not: answers of other replicas of theirs, or files that are still being written.
  [404, 5 * 60_000],
]);
const rowsAtOnce = 100;
const rowBytesAtOnce = 4 * 1024 * 1024;

/**
 * One look at a part that its provider has: true when its answers were taken, or it was given up. Once `over` is aborted
 * it is cancelled there first.
 */
export function createFollower(
  run: BatchRun,
  parts: StoredParts,
  over: AbortSignal,
): (part: BatchPart) => Promise<boolean> {
  const cancelled = new Set<number>();
  /** Troubles by part, and since when (monotonic ms). */
  const troubled = new Map<number, { status: number | null; sinceMs: number }>();

  /** Tells the operator once. True: it has lasted too long. */
  function isLost(part: BatchPart, { status, message }: UpstreamTrouble): boolean {
    const nowMs = run.clock.monotonicMs();
    const before = troubled.get(part.id);
    if (before?.status === status) return nowMs - before.sinceMs >= (giveUpMs.get(status) ?? Number.POSITIVE_INFINITY);
    troubled.set(part.id, { status, sinceMs: nowMs });
    run.upstream.onTrouble(`the batch ${part.upstream} at ${part.place.provider} cannot be asked: ${message}`);
    return false;
  }

  return async (part) => {
    const client = clientOf(run.upstream, part);
    if (client === null || part.upstream === null) {
      await parts.giveUp(part, 'it is no longer configured');
      return true;
    }
    const { upstream: id } = part;
    try {
      if (over.aborted && !cancelled.has(part.id) && part.isGuess !== true) {
        // One that has ended meanwhile refuses it, and is looked at below.
        const refused = await apiOf(part)
          .cancel(client, id)
          .catch((error: unknown) => error);
        if (!(refused instanceof UpstreamTrouble && mayPass(refused))) cancelled.add(part.id);
      }
      const progress = await apiOf(part).look(client, id);
      await parts.noteProgress(part, progress.succeeded);
      if (!progress.ended) {
        troubled.delete(part.id);
        return false;
      }
      const areOurs = await takeAnswers(run, part, client, progress);
      await parts.takenBack(part);
      if (areOurs) await tidyUp(run, part, client, progress);
      return true;
    } catch (error) {
      if (!(error instanceof UpstreamTrouble)) throw error;
      if (!isLost(part, error)) return false;
      await parts.giveUp(part, error.message);
      return true;
    }
  };
}

/** The same call may be taken later. */
function mayPass({ status, final }: UpstreamTrouble): boolean {
  return !final || giveUpMs.has(status);
}

/** Keeps the answers of a batch that has ended, a few at a time. False: it is not known to be ours. */
async function takeAnswers(
  { batch, store, lease, sealer }: BatchRun,
  part: BatchPart,
  client: UpstreamClient,
  progress: BatchProgress,
): Promise<boolean> {
  let areOurs = part.isGuess !== true;
  let rows: ReturnedLine[] = [];
  let bytes = 0;
  const keep = async () => {
    if (rows.length > 0 && !(await store.returned(lease, part.id, rows))) throw new LeaseLost('the lease is lost');
    rows = [];
    bytes = 0;
  };
  for await (const { customId, body } of apiOf(part).results(client, progress)) {
    const line = lineNamed(customId);
    areOurs ||= line !== null && (await store.lines(batch.id, line.seq - 1, 1))[0]?.requestId === line.requestId;
    if (!areOurs) return false;
    if (line === null || body === null) continue;
    const answer = sealer.seal(Buffer.from(body), resultContext(batch, line.seq));
    rows.push({ ...line, answer });
    bytes += answer.length;
    if (rows.length >= rowsAtOnce || bytes >= rowBytesAtOnce) await keep();
  }
  await keep();
  return areOurs;
}

/** Removes what the provider has of a part. A file that stays there does no harm to the batch. */
async function tidyUp(run: BatchRun, part: BatchPart, client: UpstreamClient, progress: BatchProgress): Promise<void> {
  await apiOf(part)
    .remove(client, progress)
    .catch((error: unknown) => {
      run.upstream.onTrouble(`files of the batch ${progress.id} stay at ${part.place.provider}: ${String(error)}`);
    });
}

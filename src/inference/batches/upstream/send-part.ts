import { setTimeout as pause } from 'node:timers/promises';
import { backoffMs } from '../../../kernel/backoff.ts';
import { atProvider, type BatchRun } from '../batch-parts.ts';
import type { BatchOrder } from './batch-api.ts';
import type { BatchPart } from './batch-part.ts';
import { apiOf, clientOf, type StoredParts } from './stored-parts.ts';
import { UpstreamTrouble } from './upstream-client.ts';

const triesMax = 3;
const againPauses = { firstMs: 2_000, maxMs: 4_000 };

/**
 * Sends a part to its provider, or gives it up. `maybe-sent`: a process before this one may have done it, so the provider
 * is asked first; as it is after each try, for it may have heard of a try that failed.
 */
export async function sendPart(
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

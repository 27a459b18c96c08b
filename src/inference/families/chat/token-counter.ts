import type { CallerDialectId } from '../../../formats/dialects/dialect.ts';
import type { Failure } from '../../../kernel/failure.ts';
import { createTurns } from '../../../kernel/sharing/turns.ts';
import { createTimedThreads } from '../../../kernel/threads/timed-thread.ts';
import type { Counted } from './count-request.ts';
import type { CountOrder } from './token-count-worker.ts';

/** The second is started when one is busy with another tenant's text. */
const threadsMax = 2;
/** Claude Code asks for 25 at once, of 30 KB each. Beyond either bound a caller gets no count. One tenant has half. */
const waitingMax = 512;
const waitingBytesMax = 64 * 1024 * 1024;
/** Time for waiting, again for the tables to be loaded, and again for counting. Tables that come later serve the next body. */
const timeoutMs = 5_000;

/** Counts the tokens of request bodies with a tokenizer in separate threads, which start at the first body. */
export type TokenCounter = ReturnType<typeof createTokenCounter>;

export function createTokenCounter() {
  const entry = new URL('./token-count-worker.ts', import.meta.url);
  const threads = createTimedThreads(threadsMax, entry, 'thread that counts tokens', { workMaxMs: timeoutMs });
  const turns = createTurns({ name: 'Texts to count', places: threadsMax, waitingMax, waitingBytesMax });
  return {
    /**
     * A Failure (400) for a body that does not pass its dialect's check; null when no count can be had in time. Bodies
     * of several tenants are counted in turn.
     */
    async count(tenant: string, raw: Buffer, dialect: CallerDialectId): Promise<Counted | Failure | null> {
      const turn = await turns.take(tenant, AbortSignal.timeout(timeoutMs), raw.length).catch(() => null);
      if (turn === null) return null;
      try {
        const copy = new Uint8Array(raw);
        const order: Omit<CountOrder, 'id'> = { raw: copy, dialect };
        return await threads.run<Counted | Failure>(order, [copy.buffer]);
      } finally {
        turn.giveBack();
      }
    },
    close: threads.close,
  };
}

import { Worker } from 'node:worker_threads';
import { createTurns } from '../../kernel/sharing/turns.ts';
import type { DialectId, Result } from '../dialects/dialect.ts';
import type { Counted } from './count-request.ts';
import type { CountOrder } from './token-count-worker.ts';

/** The tokenizer's tables take 80 MB: they are let go after this. */
const idleMs = 60_000;
/** The second is started when one is busy with another tenant's text. */
const threadsMax = 2;
/** Claude Code asks for 25 at once, of 30 KB each; beyond either bound a caller gets no count. Of one tenant half. */
const waitingMax = 512;
const waitingBytesMax = 64 * 1024 * 1024;
/** Of waiting, and again of counting: the tables take a second to load on a busy machine. */
const timeoutMs = 5_000;

/** Counts the tokens of request bodies by a tokenizer in threads of its own, started at the first of them. */
export interface TokenCounter {
  /**
   * A Failure (400) for a body that does not pass its dialect's check; null when no count can be had in time. Bodies of
   * several tenants are counted in turn.
   */
  count(tenant: string, raw: Buffer, dialect: DialectId): Promise<Result<Counted> | null>;
  close(): Promise<void>;
}

type Count = Result<Counted> | null;

export function createTokenCounter(): TokenCounter {
  const idle = Array.from({ length: threadsMax }, createCountThread);
  const all = [...idle];
  const turns = createTurns({ name: 'Texts to be counted', places: threadsMax, waitingMax, waitingBytesMax });
  return {
    async count(tenant, raw, dialect) {
      const turn = await turns.take(tenant, AbortSignal.timeout(timeoutMs), raw.length).catch(() => null);
      if (turn === null) return null;
      // The one that was used last has its tables.
      const thread = idle.pop()!;
      try {
        return await thread.count(raw, dialect);
      } finally {
        idle.push(thread);
        turn.giveBack();
      }
    },
    async close() {
      await Promise.all(all.map((thread) => thread.close()));
    },
  };
}

interface CountThread {
  /** One after the other. */
  count(raw: Buffer, dialect: DialectId): Promise<Count>;
  close(): Promise<void>;
}

function createCountThread(): CountThread {
  let worker: Worker | null = null;
  let timer: NodeJS.Timeout | null = null;
  let end: (count: Count) => void = () => undefined;

  function running(): Worker {
    if (worker !== null) return worker;
    const started = new Worker(new URL('./token-count-worker.ts', import.meta.url));
    started.on('message', ({ result }: { result?: Result<Counted> }) => {
      if (worker === started) end(result ?? null);
    });
    const lost = () => {
      if (worker === started) letGo();
    };
    started.on('error', lost);
    started.on('exit', lost);
    started.unref();
    worker = started;
    return started;
  }

  function rearm(ms: number): void {
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(letGo, ms);
    timer.unref();
  }

  /** Whoever waits gets no count: a thread that is stuck is not waited for. */
  function letGo(): void {
    const gone = worker;
    worker = null;
    end(null);
    void gone?.terminate();
  }

  return {
    count: (raw, dialect) =>
      new Promise((resolve) => {
        const thread = running();
        end = (count) => {
          end = () => undefined;
          rearm(idleMs);
          resolve(count);
        };
        rearm(timeoutMs);
        const own = new Uint8Array(raw);
        thread.postMessage({ raw: own, dialect } satisfies CountOrder, [own.buffer]);
      }),
    async close() {
      if (timer !== null) clearTimeout(timer);
      await worker?.terminate();
    },
  };
}

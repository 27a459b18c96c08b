import { Worker } from 'node:worker_threads';
import type { DialectId, Result } from '../dialects/dialect.ts';
import type { Counted } from './count-request.ts';
import type { CountOrder } from './token-count-worker.ts';

/** The tokenizer's tables take 80 MB: they are let go after this. */
const idleMs = 60_000;
/** Claude Code asks for 25 at once, of 30 KB each; beyond either bound a caller gets no count. */
const waitingMax = 256;
const waitingBytesMax = 64 * 1024 * 1024;
/** From the first of those that wait: the tables take a second to load on a busy machine. */
const answerTimeoutMs = 5_000;

/** Counts the tokens of request bodies by a tokenizer in a thread of its own, started at the first of them. */
export interface TokenCounter {
  /** A Failure (400) for a body that does not pass its dialect's check; null when no count can be had in time. */
  count(raw: Buffer, dialect: DialectId): Promise<Result<Counted> | null>;
  close(): Promise<void>;
}

interface Waiting {
  bytes: number;
  resolve(result: Result<Counted> | null): void;
  timer: NodeJS.Timeout;
}

export function createTokenCounter(): TokenCounter {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | null = null;
  let idle: NodeJS.Timeout | null = null;
  let waitingBytes = 0;
  let lastId = 0;

  function running(): Worker {
    if (worker !== null) return worker;
    const started = new Worker(new URL('./token-count-worker.mjs', import.meta.url));
    started.on('message', ({ id, result }: { id: number; result?: Result<Counted> }) => answer(id, result ?? null));
    const lost = () => {
      if (worker === started) letGo();
    };
    started.on('error', lost);
    started.on('exit', lost);
    started.unref();
    worker = started;
    return started;
  }

  function answer(id: number, result: Result<Counted> | null): void {
    const order = waiting.get(id);
    if (order === undefined) return;
    waiting.delete(id);
    waitingBytes -= order.bytes;
    clearTimeout(order.timer);
    order.resolve(result);
    if (waiting.size > 0) return;
    idle = setTimeout(letGo, idleMs);
    idle.unref();
  }

  /** Whoever still waits gets no count: a thread that is stuck is not waited for. */
  function letGo(): void {
    const gone = worker;
    worker = null;
    for (const id of [...waiting.keys()]) answer(id, null);
    void gone?.terminate();
  }

  return {
    async count(raw, dialect) {
      if (waiting.size >= waitingMax || waitingBytes + raw.length > waitingBytesMax) return null;
      if (idle !== null) clearTimeout(idle);
      const id = ++lastId;
      return new Promise((resolve) => {
        const timer = setTimeout(letGo, answerTimeoutMs);
        timer.unref();
        waitingBytes += raw.length;
        waiting.set(id, { resolve, timer, bytes: raw.length });
        const own = new Uint8Array(raw);
        running().postMessage({ id, raw: own, dialect } satisfies CountOrder, [own.buffer]);
      });
    },
    async close() {
      if (idle !== null) clearTimeout(idle);
      await worker?.terminate();
    },
  };
}

import { connect, type Socket } from 'node:net';
import { answerPatienceMs } from './load.ts';
import { monotonicUs, stampDigits, stampMark } from './wire.ts';

const mark = Buffer.from(stampMark);

/** One open stream through a proxy: counts content chunks and how long each was on its way. */
export class StreamReader {
  chunks = 0;
  closed = false;
  /** µs on the way of every chunk, if asked for. */
  readonly delaysUs: number[] = [];
  readonly socket: Socket;
  readonly #delays: 'keep' | 'count-only';
  readonly #first: Promise<number>;

  constructor(port: number, request: Buffer, delays: 'keep' | 'count-only' = 'count-only') {
    this.#delays = delays;
    const startedUs = monotonicUs();
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true, timeout: answerPatienceMs });
    this.socket.once('timeout', () => this.socket.destroy());
    this.#first = new Promise((resolve, reject) => {
      this.socket.on('data', (chunk: Buffer) => {
        if (this.chunks > 0) return this.#count(chunk);
        this.#count(chunk);
        if (this.chunks === 0) return;
        resolve(monotonicUs() - startedUs);
        // Whoever reads on may pause as long as it likes.
        this.socket.setTimeout(0);
      });
      this.socket.on('close', () => {
        this.closed = true;
        reject(new Error('the stream was closed before its first chunk'));
      });
    });
    this.#first.catch(() => undefined);
    this.socket.on('error', () => this.socket.destroy());
    this.socket.write(request);
  }

  /** µs from the connect to the first content chunk. */
  first(): Promise<number> {
    return this.#first;
  }

  close(): void {
    this.socket.destroy();
  }

  #count(chunk: Buffer): void {
    for (let at = chunk.indexOf(mark); at !== -1; at = chunk.indexOf(mark, at + mark.length)) {
      this.chunks += 1;
      if (this.#delays === 'count-only') continue;
      const us = Number(chunk.toString('latin1', at + mark.length, at + mark.length + stampDigits));
      this.delaysUs.push(monotonicUs() - us);
    }
  }
}

/** Opens them a few at a time, so that a burst of connections is not measured. */
export async function openStreams(
  port: number,
  request: Buffer,
  count: number,
  delays: 'keep' | 'count-only' = 'count-only',
): Promise<StreamReader[]> {
  const readers: StreamReader[] = [];
  while (readers.length < count) {
    const more = Math.min(50, count - readers.length);
    const batch = Array.from({ length: more }, () => new StreamReader(port, request, delays));
    readers.push(...batch);
    try {
      await Promise.all(batch.map((reader) => reader.first()));
    } catch (error) {
      for (const reader of readers) reader.close();
      throw error;
    }
  }
  return readers;
}

/** Opens and aborts streams after their first chunk, `atOnce` at a time. */
export async function abortStreams(order: {
  port: number;
  request: Buffer;
  count: number;
  atOnce: number;
  onCount: { every: number; tell(aborted: number): void };
}): Promise<void> {
  let started = 0;
  let aborted = 0;
  const lane = async () => {
    while (started < order.count) {
      started += 1;
      const reader = new StreamReader(order.port, order.request);
      await reader.first().catch(() => undefined);
      reader.close();
      aborted += 1;
      if (aborted % order.onCount.every === 0) order.onCount.tell(aborted);
    }
  };
  await Promise.all(Array.from({ length: order.atOnce }, lane));
}

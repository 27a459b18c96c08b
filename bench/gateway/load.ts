import { connect, type Socket } from 'node:net';

export interface LoadResult {
  requests: number;
  errors: number;
  seconds: number;
}

const headEndMark = Buffer.from('\r\n\r\n');
const chunkedEnd = Buffer.from('0\r\n\r\n');
/** An answer of which nothing comes for so long has failed. */
export const answerPatienceMs = 60_000;

/** One kept-alive connection that sends one prepared request at a time and only counts the answer's bytes. */
export class Connection {
  readonly #socket: Socket;
  #left = -1;
  /** Last bytes of a chunked answer. */
  #tail: Buffer = Buffer.alloc(0);
  #done: ((outcome: 'ok' | 'failed') => void) | null = null;

  constructor(port: number, patienceMs = answerPatienceMs) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true, timeout: patienceMs });
    this.#socket.on('timeout', () => {
      if (this.#done !== null) this.#socket.destroy();
    });
    this.#socket.on('data', (chunk: Buffer) => this.#read(chunk));
    this.#socket.on('error', () => this.#socket.destroy());
    this.#socket.on('close', () => this.#end('failed'));
  }

  /** `done` is called once, synchronously with the answer's last byte. */
  send(request: Buffer, done: (outcome: 'ok' | 'failed') => void): void {
    if (this.#socket.destroyed) return done('failed');
    this.#done = done;
    this.#left = -1;
    this.#socket.write(request);
  }

  close(): void {
    this.#done = null;
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    if (this.#left === -1) {
      const headEnd = chunk.indexOf(headEndMark);
      // Answers come with their head in one piece here; anything else is a fault of the measurement.
      if (headEnd < 0 || chunk[9] !== 0x32) return this.#end('failed');
      const length = contentLength(chunk, headEnd);
      this.#left = length === null ? -2 : length - (chunk.length - headEnd - 4);
    } else if (this.#left >= 0) this.#left -= chunk.length;
    if (this.#left === 0 || (this.#left === -2 && this.#isLast(chunk))) this.#end('ok');
  }

  /** The end of a chunked answer may come in two pieces. */
  #isLast(chunk: Buffer): boolean {
    const end = chunk.length < chunkedEnd.length ? Buffer.concat([this.#tail, chunk]) : chunk;
    this.#tail = end.subarray(-chunkedEnd.length);
    return this.#tail.equals(chunkedEnd);
  }

  #end(outcome: 'ok' | 'failed'): void {
    const done = this.#done;
    this.#done = null;
    done?.(outcome);
  }
}

/** Null when the answer is chunked. */
function contentLength(chunk: Buffer, headEnd: number): number | null {
  const head = chunk.toString('latin1', 0, headEnd);
  const at = head.search(/content-length: /i);
  return at < 0 ? null : Number.parseInt(head.slice(at + 16, at + 26), 10);
}

export interface ClosedLoop {
  port: number;
  /** Several are sent in turn. */
  request: Buffer | readonly Buffer[];
  connections: number;
  /** Whichever comes first. */
  seconds: number;
  requestsMax?: number;
  patienceMs?: number;
  onCount?: { every: number; tell(requests: number): void };
}

/** Every connection sends its next request as soon as it has its answer. */
export async function closedLoop(order: ClosedLoop): Promise<LoadResult> {
  const { port, connections, requestsMax = Number.POSITIVE_INFINITY, patienceMs, onCount } = order;
  const prepared = [order.request].flat();
  const endMs = performance.now() + order.seconds * 1_000;
  const startMs = performance.now();
  let sent = 0;
  let requests = 0;
  let errors = 0;
  await Promise.all(
    Array.from({ length: connections }, () => {
      return new Promise<void>((resolve) => {
        let connection = new Connection(port, patienceMs);
        const next = () => {
          if (sent >= requestsMax || performance.now() > endMs) {
            connection.close();
            return resolve();
          }
          sent += 1;
          connection.send(prepared[sent % prepared.length]!, answered);
        };
        const answered = (outcome: 'ok' | 'failed') => {
          requests += 1;
          if (outcome === 'failed') {
            errors += 1;
            connection.close();
            connection = new Connection(port, patienceMs);
          }
          if (onCount !== undefined && requests % onCount.every === 0) onCount.tell(requests);
          next();
        };
        next();
      });
    }),
  );
  return { requests, errors, seconds: (performance.now() - startMs) / 1_000 };
}

/** Sends at a fixed rate whatever comes back; the latencies in ms, sorted, failed ones left out. */
export async function openLoop(order: {
  port: number;
  request: Buffer;
  perSecond: number;
  seconds: number;
}): Promise<{ latenciesMs: number[]; errors: number }> {
  const { port, request, perSecond } = order;
  const idle: Connection[] = [];
  const latenciesMs: number[] = [];
  let errors = 0;
  let running = 0;
  const total = Math.round(perSecond * order.seconds);
  const startMs = performance.now();
  await new Promise<void>((resolve) => {
    let sent = 0;
    const timer = setInterval(() => {
      // At most a few at once: what a sleeping timer missed must not come as one burst.
      let burst = 0;
      while (sent < total && burst < 2 && performance.now() - startMs >= (sent * 1_000) / perSecond) {
        sent += 1;
        burst += 1;
        one();
      }
      if (sent >= total && running === 0) {
        clearInterval(timer);
        resolve();
      }
    }, 1);
    const one = () => {
      const connection = idle.pop() ?? new Connection(port);
      const sentMs = performance.now();
      running += 1;
      connection.send(request, (outcome) => {
        running -= 1;
        if (outcome === 'failed') {
          errors += 1;
          connection.close();
        } else {
          latenciesMs.push(performance.now() - sentMs);
          idle.push(connection);
        }
      });
    };
  });
  for (const connection of idle) connection.close();
  return { latenciesMs: latenciesMs.sort((a, b) => a - b), errors };
}

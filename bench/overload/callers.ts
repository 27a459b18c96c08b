// Callers that come at a rate, in a process of their own: whether others are answered or not.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as after } from 'node:timers/promises';

export interface CallersOrder {
  port: number;
  /** latin1 */
  request: string;
  perSecond: number;
  seconds: number;
  /** A caller's patience: what comes later is of no use to it. */
  patienceMs: number;
  /** A refused caller comes again after this, as Retry-After says. */
  restMs: number;
  connections: number;
}

export interface CallersSaw {
  sent: number;
  /** Callers for whom there was no connection left. */
  unsent: number;
  /** Connections that broke, and callers that gave up. */
  lost: number;
  answeredMs: number[];
  refusedMs: number[];
  otherStatus: Record<string, number>;
}

const headEndMark = Buffer.from('\r\n\r\n');
const lastChunk = Buffer.from('0\r\n\r\n');

/** A kept-alive connection for one request at a time. */
interface Caller {
  socket: Socket;
  sentMs: number;
  isBusy: boolean;
  status: number;
  left: number;
  /** Bytes of a head that has not come whole. */
  begun: Buffer | null;
  /** Last bytes of a chunked answer. */
  tail: Buffer;
}

/** Opens the connections; those that break later are opened again. The result begins to send. */
export async function openCallers(order: CallersOrder): Promise<() => Promise<CallersSaw>> {
  const { port, perSecond, seconds, patienceMs, restMs, connections } = order;
  const request = Buffer.from(order.request, 'latin1');
  const saw: CallersSaw = { sent: 0, unsent: 0, lost: 0, answeredMs: [], refusedMs: [], otherStatus: {} };
  const free: Caller[] = [];
  const open = new Set<Caller>();

  function connected(): Caller {
    const caller: Caller = {
      socket: connect({ port, host: '127.0.0.1', noDelay: true }),
      sentMs: 0,
      isBusy: false,
      status: 0,
      left: 0,
      begun: null,
      tail: Buffer.alloc(0),
    };
    open.add(caller);
    caller.socket.on('data', (chunk: Buffer) => read(caller, chunk));
    caller.socket.on('error', () => caller.socket.destroy());
    caller.socket.on('close', () => {
      open.delete(caller);
      if (caller.isBusy) saw.lost += 1;
      caller.isBusy = false;
    });
    return caller;
  }

  function read(caller: Caller, chunk: Buffer): void {
    if (!caller.isBusy) return;
    if (caller.status === 0) {
      if (caller.begun !== null) chunk = Buffer.concat([caller.begun, chunk]);
      const headEnd = chunk.indexOf(headEndMark);
      caller.begun = headEnd < 0 ? chunk : null;
      if (headEnd < 0) return;
      const head = chunk.toString('latin1', 0, headEnd);
      caller.status = Number(head.slice(9, 12));
      const length = /content-length: (\d+)/i.exec(head)?.[1];
      caller.left = length === undefined ? -1 : Number(length) - (chunk.length - headEnd - 4);
      caller.tail = Buffer.alloc(0);
    } else if (caller.left > 0) caller.left -= chunk.length;
    if (caller.left === 0 || (caller.left === -1 && isLast(caller, chunk))) end(caller);
  }

  /** The end of a chunked answer may come in two pieces. */
  function isLast(caller: Caller, chunk: Buffer): boolean {
    const end = chunk.length < lastChunk.length ? Buffer.concat([caller.tail, chunk]) : chunk;
    caller.tail = end.subarray(-lastChunk.length);
    return caller.tail.equals(lastChunk);
  }

  function end(caller: Caller): void {
    const ms = performance.now() - caller.sentMs;
    if (caller.status === 200) saw.answeredMs.push(ms);
    else if (caller.status === 503 || caller.status === 429) saw.refusedMs.push(ms);
    else saw.otherStatus[caller.status] = (saw.otherStatus[caller.status] ?? 0) + 1;
    caller.isBusy = false;
    if (caller.status !== 200 && restMs > 0) setTimeout(() => free.push(caller), restMs).unref();
    else free.push(caller);
  }

  function send(): void {
    let caller = free.pop();
    while (caller?.socket.destroyed) caller = free.pop();
    if (caller === undefined) {
      if (open.size >= connections) {
        saw.unsent += 1;
        return;
      }
      caller = connected();
    }
    caller.isBusy = true;
    caller.status = 0;
    caller.sentMs = performance.now();
    saw.sent += 1;
    caller.socket.write(request);
  }

  for (let each = 0; each < connections; each += 1) {
    const caller = connected();
    await once(caller.socket, 'connect');
    free.push(caller);
  }
  return run;

  async function run(): Promise<CallersSaw> {
    const giveUp = setInterval(() => {
      const latestMs = performance.now() - patienceMs;
      for (const caller of open) if (caller.isBusy && caller.sentMs < latestMs) caller.socket.destroy();
    }, 50);
    const startMs = performance.now();
    const endMs = startMs + seconds * 1_000;
    let due = 0;
    let lastMs = startMs;
    for (let nowMs = startMs; nowMs < endMs; nowMs = performance.now()) {
      // What this process could not send in time is not sent later in a heap.
      due = Math.min(due + ((nowMs - lastMs) / 1_000) * perSecond, Math.max(1, perSecond / 20));
      lastMs = nowMs;
      for (; due >= 1; due -= 1) send();
      await after(1);
    }
    while ([...open].some(({ isBusy }) => isBusy)) await after(10);
    clearInterval(giveUp);
    for (const { socket } of open) socket.destroy();
    return saw;
  }
}

// In a process of its own: an order opens, and the word `run` begins.
if (process.send !== undefined) {
  let run: (() => Promise<CallersSaw>) | null = null;
  process.on('message', async (message: CallersOrder | 'run') => {
    if (message === 'run') return void process.send?.(await run?.());
    run = await openCallers(message);
    process.send?.('open');
  });
}

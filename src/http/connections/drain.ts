import type { Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setTimeout as rest } from 'node:timers/promises';
import type { Clock } from '../../kernel/clock.ts';
import { every } from '../../kernel/every.ts';
import type { Reception } from '../receive-request.ts';
import { acceptQueueLength } from './accept-queue.ts';
import type { ConnectionCaps } from './connection-caps.ts';
import { responseOf } from './pipelined.ts';

export interface DrainTimes {
  /** All callers are served for so long, while `/readyz` says no. */
  delayMs: number;
  /** Then running requests have so long to end. */
  graceMs: number;
}

interface DrainParts {
  server: Server;
  reception: Reception;
  clock: Pick<Clock, 'monotonicMs'>;
  /** Null: it has never listened. */
  caps: ConnectionCaps | null;
}

/** How long callers that have not noticed are waited for: before the port closes, and before idle connections do. */
const noticeMaxMs = 2_000;
/** How long connections may keep the port from closing, because some always wait to be accepted. */
const acceptMaxMs = 5_000;
// Steps are counted, not time: where the machine is busy, a step takes longer, and so do the callers.
const stepMs = 25;
/** No request in so many steps: callers have noticed, or there are none. */
const quietSteps = 10;
const sweepIntervalMs = 50;
/**
 * A connection that was idle at so many sweeps is not about to be used: a second, which callers may take between two
 * requests. One that has just connected has as long to ask; browsers keep spare ones.
 */
const idleSweepsMax = 20;
/** How long a closed connection is read, so that a request that crosses the close is not answered by a reset. */
const lingerMs = 500;
/** How long callers whose requests are cut may take to read why. */
export const cutReadMs = 500;
/** How long a request whose caller is gone may take to come to its end. */
const settleMaxMs = 1_000;

export async function drain(parts: DrainParts, { delayMs, graceMs }: DrainTimes): Promise<void> {
  const { server, reception, clock } = parts;
  reception.state = 'unready';
  if (delayMs > 0) await rest(delayMs);
  reception.state = 'draining';
  let cut = setTimeout(() => {
    reception.cutRequests();
    cut = setTimeout(() => {
      server.closeAllConnections();
      reception.cutSessions();
    }, cutReadMs);
  }, graceMs);
  const connections = new IdleConnections(parts);
  // Right after the loop has read what has come: a request that is there is not left unread.
  const stopSweeping = every(sweepIntervalMs, () => void setImmediate(() => connections.sweep()));
  await quiet(parts, Math.min(noticeMaxMs, graceMs * 0.4));
  // Until here connections are kept: a proxy that keeps some makes no new ones, which the system would reset if the
  // port closed before they are accepted.
  const { closed: ended } = await stopListening(server, clock, Math.min(acceptMaxMs, graceMs * 0.2));
  reception.state = 'closed';
  reception.ending.drain();
  // A connection that closes just as it is used again costs a request. So each busy one closes after an answer first.
  let over = false;
  const allEnded = ended.then(() => {
    over = true;
  });
  await Promise.race([allEnded, quiet(parts, Math.min(noticeMaxMs, graceMs * 0.2), () => over)]);
  connections.close(Math.min(idleSweepsMax, (graceMs * 0.2) / sweepIntervalMs));
  await ended;
  // Node's http also looks for slow headers until then.
  server.close();
  stopSweeping();
  clearTimeout(cut);
  // Those that were cut have their ends to settle.
  if (reception.running > 0) await idleWithin(reception, settleMaxMs);
}

interface Idle {
  /** At how many sweeps in a row no request ran on it, and nothing came. */
  sweeps: number;
  bytesRead: number;
}

/** Connections between two requests. From `close` on, each closes when it has been idle long enough. */
class IdleConnections {
  readonly #parts: DrainParts;
  readonly #idle = new Map<Socket, Idle>();
  #closesAt = Number.POSITIVE_INFINITY;

  constructor(parts: DrainParts) {
    this.#parts = parts;
  }

  /** `sweeps`: how many count as long enough. */
  close(sweeps: number): void {
    this.#closesAt = sweeps;
  }

  sweep(): void {
    const { caps, reception } = this.#parts;
    for (const socket of caps?.open() ?? []) {
      if (socket.writableEnded || reception.isUpgraded(socket)) continue;
      const idle = this.#idle.get(socket);
      if (responseOf(socket) !== null) this.#idle.delete(socket);
      else if (idle?.bytesRead !== socket.bytesRead) {
        this.#idle.set(socket, { sweeps: 1, bytesRead: socket.bytesRead });
      } else {
        idle.sweeps += 1;
        if (idle.sweeps >= this.#closesAt) endReading(socket);
      }
    }
  }
}

/** A request that crosses this end is read and left alone: a reset would take the end from its caller. */
function endReading(socket: Socket): void {
  socket.end();
  const leave = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(leave));
}

/** Resolves when no request that needs a key has come for a moment, when it is `over`, `maxMs` at the latest. */
async function quiet({ reception, clock }: DrainParts, maxMs: number, over = () => false): Promise<void> {
  const byMs = clock.monotonicMs() + maxMs;
  let lastCallMs = reception.lastCallMs;
  // Calls of before the stop count as far as they go.
  let steps = Math.floor((clock.monotonicMs() - lastCallMs) / stepMs);
  while (!over() && steps < quietSteps && clock.monotonicMs() < byMs) {
    await rest(stepMs);
    steps = reception.lastCallMs === lastCallMs ? steps + 1 : 0;
    lastCallMs = reception.lastCallMs;
  }
}

/** Resolves when no request runs, `ms` at the latest. */
function idleWithin(reception: Reception, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      reception.onIdle = null;
      resolve();
    };
    const timer = setTimeout(done, ms);
    reception.onIdle = done;
  });
}

/** Where the system does not say how many wait: a turn of the loop that took no longer had nothing to do. */
const idleTurnMs = 0.1;

/**
 * Closes the port at an instant at which no connection waits to be accepted: the system resets waiting ones, with the
 * requests that they have sent. Connections that come meanwhile are accepted and served right after, so that the loop
 * only accepts. Open connections stay. Callers that connect without a pause cannot put it off beyond `waitMaxMs`.
 * Resolves when the port is closed; `closed` when the last connection is.
 */
function stopListening(
  server: Server,
  clock: Pick<Clock, 'monotonicMs'>,
  waitMaxMs: number,
): Promise<{ closed: Promise<void> }> {
  const serve = server.listeners('connection') as ((socket: Socket) => void)[];
  const accepted: Socket[] = [];
  server.removeAllListeners('connection');
  server.on('connection', (socket) => accepted.push(socket));
  return new Promise((resolve) => {
    const byMs = clock.monotonicMs() + waitMaxMs;
    let before = { accepted: -1, atMs: 0 };

    /** Runs right after the loop has accepted what it does in a turn. */
    function look(): void {
      const nowMs = clock.monotonicMs();
      const idle = accepted.length === before.accepted && noneWaits(nowMs - before.atMs);
      before = { accepted: accepted.length, atMs: nowMs };
      if (!idle && nowMs < byMs) {
        setImmediate(look);
        return;
      }
      // Not the close of http, which would look at every connection first.
      const closed = new Promise<void>((done) => NetServer.prototype.close.call(server, () => done()));
      for (const socket of accepted) for (const listener of serve) listener.call(server, socket);
      resolve({ closed });
    }
    setImmediate(look);

    function noneWaits(turnMs: number): boolean {
      const waiting = acceptQueueLength(server);
      return waiting === null ? turnMs <= idleTurnMs : waiting === 0;
    }
  });
}

import type { Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import type { Clock } from '../../kernel/clock.ts';
import { acceptQueueLength } from './accept-queue.ts';

/** Where the system does not say how many wait: a turn of the loop that took no longer had nothing to do. */
const idleTurnMs = 0.1;

/**
 * Closes the port at an instant at which no connection waits to be accepted: the system resets waiting ones, with the
 * requests that they have sent. Connections that come meanwhile are accepted and served right after, so that the loop
 * only accepts. Open connections stay. Callers that connect without a pause cannot put it off beyond `waitMaxMs`.
 * Resolves when the port is closed; `closed` when the last connection is.
 */
export function stopListening(
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

import type { Server } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import type { Clock } from '../kernel/clock.ts';

/** A turn of the loop that took no longer had nothing to do: whatever connected before it has been accepted. */
const idleTurnMs = 0.1;
/** Without an idle turn for this long it is closed nevertheless. */
const waitMaxMs = 1_000;

/**
 * Closes the port at an instant at which no connection waits to be accepted: the system resets waiting ones, with the
 * requests that they have sent. Connections that come meanwhile are accepted and served right after, so that the loop
 * only accepts. Open connections stay. Resolves when the port is closed; `closed` when the last connection is.
 */
export function stopListening(server: Server, clock: Pick<Clock, 'monotonicMs'>): Promise<{ closed: Promise<void> }> {
  const serve = server.listeners('connection') as ((socket: Socket) => void)[];
  const accepted: Socket[] = [];
  server.removeAllListeners('connection');
  server.on('connection', (socket) => accepted.push(socket));
  return new Promise((resolve) => {
    const byMs = clock.monotonicMs() + waitMaxMs;
    let before = { accepted: 0, atMs: clock.monotonicMs() };

    /** Runs right after the loop has accepted what there was. */
    function look(): void {
      const nowMs = clock.monotonicMs();
      const idle = accepted.length === before.accepted && nowMs - before.atMs <= idleTurnMs;
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
  });
}

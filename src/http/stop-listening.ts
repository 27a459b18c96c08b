import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { Clock } from '../kernel/clock.ts';

/** A turn of the loop that took no longer had nothing to do: whatever connected before it has been accepted. */
const idleTurnMs = 0.1;
/** Without an idle turn for so long it is closed all the same. */
const waitMaxMs = 1_000;

/**
 * Closes the port at an instant at which nobody waits to be accepted: the system resets those who do, with the requests
 * that they have sent. Connections that stand are left. Resolves when the port is closed; `closed` when the last
 * connection is.
 */
export function stopListening(server: Server, clock: Pick<Clock, 'monotonicMs'>): Promise<{ closed: Promise<void> }> {
  return new Promise((resolve) => {
    const byMs = clock.monotonicMs() + waitMaxMs;
    let accepted = 0;
    let before = { accepted, atMs: clock.monotonicMs() };
    const count = () => {
      accepted += 1;
    };
    server.on('connection', count);

    /** Runs right after the loop has accepted what there was. */
    function look(): void {
      const nowMs = clock.monotonicMs();
      const idle = accepted === before.accepted && nowMs - before.atMs <= idleTurnMs;
      before = { accepted, atMs: nowMs };
      if (!idle && nowMs < byMs) {
        setImmediate(look);
        return;
      }
      server.off('connection', count);
      // Not the one of http: it would look at every connection first.
      const closed = new Promise<void>((done) => NetServer.prototype.close.call(server, () => done()));
      resolve({ closed });
    }
    setImmediate(look);
  });
}

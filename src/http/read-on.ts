import type { IncomingMessage } from 'node:http';
import { every } from '../kernel/every.ts';

/** A caller that sends nothing for so long has read its answer, or never will. */
const idleMsMax = 2_000;
/** How long the rest of a body is read at most. */
const msMax = 10_000;
const lookEveryMs = 250;

/**
 * Closes the connection of `request` some time after its answer instead of at once, and reads what of the body still comes.
 * Where bytes are unread, a close is a reset, and a caller that is still sending would see that and not its answer.
 */
export function readOnAfterAnswer({ socket }: IncomingMessage): void {
  // Node calls it when the last answer of a connection is out, and reads the body from then on.
  socket.destroySoon = () => {
    if (socket.writable) socket.end();
    let { bytesRead } = socket;
    let [passedMs, idleMs] = [0, 0];
    const stopLooking = every(lookEveryMs, () => {
      passedMs += lookEveryMs;
      idleMs = socket.bytesRead === bytesRead ? idleMs + lookEveryMs : 0;
      bytesRead = socket.bytesRead;
      if (idleMs >= idleMsMax || passedMs >= msMax) socket.destroy();
    });
    socket.once('close', stopLooking);
  };
}

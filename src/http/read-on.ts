import type { IncomingMessage } from 'node:http';
import { every } from '../kernel/every.ts';
import type { Exchange } from './exchange.ts';

/** A caller that sends nothing for so long has read its answer, or never will. */
const idleMsMax = 2_000;
/** How long the rest of a body is read at most. */
const msMax = 10_000;
const lookEveryMs = 250;

/**
 * Closes the connection of `request` some time after its answer instead of at once, and reads what of the body still comes.
 * Where bytes are unread, a close is a reset, and a caller that is still sending would see that and not its answer.
 */
export function readOnAfterAnswer(request: IncomingMessage): void {
  const { socket } = request;
  // Node calls it when the last answer of a connection is out, and reads the body from then on, unless it was begun.
  socket.destroySoon = () => {
    request.resume();
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

/** Above this an unread body is not worth draining for the sake of the connection. */
const drainBytesMax = 1024 * 1024;

/** Whether more of a body is unread than is worth reading for the sake of the connection. */
export function hasLargeUnreadBody({ request, dropsBody }: Pick<Exchange, 'request' | 'dropsBody'>): boolean {
  // A caller that is still sending would see the reset and not the answer.
  if (dropsBody) return false;
  if (request.complete) return false;
  const length = request.headers['content-length'];
  return length === undefined ? request.headers['transfer-encoding'] !== undefined : Number(length) > drainBytesMax;
}

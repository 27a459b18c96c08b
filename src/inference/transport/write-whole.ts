import type { Socket } from 'node:net';

/** Up to here a body is joined to the head, so that both are one write; node copies more than that once again. */
const joinedBytesMax = 12 * 1024;

/** Head and body in one send; short ones as one string, of which node writes without a copy of its own. */
export function writeWhole(socket: Socket, head: string, body: Buffer | string): void {
  if (typeof body === 'string') {
    const bytes = Buffer.from(body);
    // As many characters as bytes: all ASCII.
    if (bytes.length === body.length && bytes.length <= joinedBytesMax) socket.write(head + body, 'latin1');
    else writeBoth(socket, head, bytes);
  } else if (body.length <= joinedBytesMax) socket.write(head + body.toString('latin1'), 'latin1');
  else writeBoth(socket, head, body);
}

function writeBoth(socket: Socket, head: string, body: Buffer): void {
  socket.cork();
  socket.write(head, 'latin1');
  socket.write(body);
  socket.uncork();
}

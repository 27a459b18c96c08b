import type { Socket } from 'node:net';
import type { UpstreamUpload } from './upstream-call.ts';
import { WireFailure } from './wire-failure.ts';

/**
 * Writes a body that is read while it is sent, never further ahead than the socket's buffer. Ends early, closing what it
 * reads, when the socket is closed. Rejects when the reading fails, or gives another length than was said. `moved` is
 * called whenever some of it is on its way.
 */
export async function pour(upload: UpstreamUpload, socket: Socket, moved: () => void): Promise<void> {
  let bytes = 0;
  for await (const piece of upload.open()) {
    if (socket.destroyed) return;
    bytes += piece.length;
    if (bytes > upload.bytes) break;
    if (!socket.write(piece)) await drained(socket);
    if (socket.destroyed) return;
    moved();
  }
  if (bytes !== upload.bytes && !socket.destroyed) throw new WireFailure('wrong-length');
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      socket.off('drain', done);
      socket.off('close', done);
      resolve();
    };
    socket.on('drain', done);
    socket.on('close', done);
  });
}

import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

/** Facts of bytes that Node's parser of HTTP/1.1 cannot read. */
export interface UnreadBytes {
  code?: string | undefined;
  rawPacket?: Buffer | undefined;
}

/**
 * The connection of a client that speaks HTTP/2 without having asked (RFC 9113 §3.3), with the bytes that came first, away
 * from the parser of HTTP/1.1; null: it speaks something else.
 */
export function http2Connection({ code, rawPacket }: UnreadBytes, socket: Socket): Duplex | null {
  if (code !== 'HPE_PAUSED_H2_UPGRADE' || rawPacket === undefined) return null;
  // Nothing else came before.
  const isFirst = socket.bytesRead === rawPacket.length && rawPacket.toString('latin1', 0, preface.length) === preface;
  return isFirst ? unread(socket, rawPacket) : null;
}

function unread(socket: Socket, first: Buffer): Duplex {
  for (const name of ['data', 'end', 'error', 'timeout', 'drain']) socket.removeAllListeners(name);
  const connection = new Duplex({
    read: () => void socket.resume(),
    write: (chunk: Buffer, _, done) => void socket.write(chunk, done),
    final: (done) => void socket.end(done),
    destroy(error, done) {
      socket.destroy();
      done(error);
    },
  });
  socket.on('data', (chunk: Buffer) => {
    if (!connection.push(chunk)) socket.pause();
  });
  socket.on('end', () => connection.push(null));
  socket.on('error', () => connection.destroy());
  socket.on('close', () => connection.destroy());
  connection.on('error', () => undefined);
  connection.push(first);
  return connection;
}

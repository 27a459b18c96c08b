import type { Duplex } from 'node:stream';
import { deserialize, serialize } from 'node:v8';
import { createLink, type Link, type Offers } from '../kernel/threads/link.ts';

/** Before each message: its length. */
const headBytes = 4;
/** Up to this a copy is cheaper than two writes. */
const joinedBytesMax = 16 * 1024;

/**
 * A link over a separate stream: many megabytes that pass there hold up no message of another link. `onClosed` is called
 * once, when the other end is closed.
 */
export function createByteLink<Theirs extends Offers>(
  stream: Duplex,
  ours: Offers,
  onClosed: () => void,
): Link<Theirs> {
  const link = createLink<Theirs>((message) => {
    const bytes = serialize(message);
    const head = Buffer.allocUnsafe(headBytes);
    head.writeUInt32BE(bytes.length);
    if (bytes.length <= joinedBytesMax) return void stream.write(Buffer.concat([head, bytes]));
    stream.cork();
    stream.write(head);
    stream.write(bytes);
    stream.uncork();
  }, ours);
  const take = createMessages((bytes) => link.take(deserialize(bytes)));
  stream.on('data', take);
  // Its end follows.
  stream.on('error', () => undefined);
  stream.once('close', () => {
    link.closed({ kind: 'overloaded', message: 'Another process of this server has ended. Retry the request.' });
    onClosed();
  });
  return link;
}

/** Puts messages together from the pieces in which they come. */
function createMessages(onMessage: (bytes: Buffer) => void): (piece: Buffer) => void {
  let pieces: Buffer[] = [];
  let heldBytes = 0;

  function whole(): Buffer {
    const [only] = pieces;
    const joined = pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces, heldBytes);
    pieces = [joined];
    return joined;
  }

  /** Bytes without which no further message is whole. */
  let neededBytes = headBytes;
  return (piece) => {
    pieces.push(piece);
    heldBytes += piece.length;
    while (heldBytes >= neededBytes) {
      const bytes = whole();
      const messageBytes = headBytes + bytes.readUInt32BE(0);
      neededBytes = messageBytes;
      if (heldBytes < messageBytes) return;
      onMessage(bytes.subarray(headBytes, messageBytes));
      heldBytes -= messageBytes;
      pieces = heldBytes === 0 ? [] : [bytes.subarray(messageBytes)];
      neededBytes = headBytes;
    }
  };
}

import { closeSync, openSync, readSync } from 'node:fs';
import type { Server } from 'node:net';

/** Few, so that the system looks no further than the row of the port: the rest of its table takes milliseconds. */
const readBytes = 64;
/** Listening sockets that are looked at. */
const rowsMax = 1_000;
/** A row of a listening socket (proc_pid_net(5)): its port, its state, and of its two queues the second. */
const listeningRow = /^ *\d+: [\dA-F]+:([\dA-F]{4}) [\dA-F]+:[\dA-F]{4} 0A [\dA-F]+:([\dA-F]+) /;

/**
 * Number of connections that wait to be accepted by `server` right now: the `rx_queue` of its row in
 * `/proc/self/net/tcp`. Null where the system does not say. Blocks for up to some milliseconds before it looks, and
 * returns right after.
 */
export function acceptQueueLength(server: Server): number | null {
  const address = server.address();
  if (address === null || typeof address === 'string') return null;
  const file = address.family === 'IPv6' ? '/proc/self/net/tcp6' : '/proc/self/net/tcp';
  try {
    const descriptor = openSync(file, 'r');
    try {
      return queueOf(address.port, descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return null;
  }
}

/** Listening sockets have the first rows. */
function queueOf(port: number, descriptor: number): number | null {
  const bytes = Buffer.allocUnsafe(readBytes);
  let text = '';
  let rows = 0;
  while (rows < rowsMax) {
    const [, hexPort, hexLength] = listeningRow.exec(text) ?? [];
    if (hexPort !== undefined && Number.parseInt(hexPort, 16) === port) return Number.parseInt(hexLength!, 16);
    const end = text.indexOf('\n');
    if (end !== -1) {
      // The first row is the head of the table.
      if (rows > 0 && hexPort === undefined) return null;
      rows += 1;
      text = text.slice(end + 1);
      continue;
    }
    const count = readSync(descriptor, bytes);
    if (count === 0) return null;
    text += bytes.toString('latin1', 0, count);
  }
  return null;
}

import { connect, type Socket } from 'node:net';
import { testKey } from '../start-gateway.ts';
import type { Lifetime } from '../start-process.ts';

export const chatPath = '/v1/chat/completions';

/** A request whose body has stopped before its end. */
export interface StalledBody {
  socket: Socket;
  /** The gateway's words so far. */
  received(): string;
}

export interface StalledBodyOrder {
  declaredBytes: number;
  /** Bytes to send; a number means blanks. */
  bytes: number | Buffer;
  /** `testKey` by default. */
  key?: string;
  /** A chat's by default. */
  path?: string;
  type?: string;
}

/** Resolves when the gateway has had time to read the bytes. */
export async function stallBody(t: Lifetime, { url }: { url: string }, order: StalledBodyOrder): Promise<StalledBody> {
  const { declaredBytes, bytes, key = testKey, path = chatPath, type = 'application/json' } = order;
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  t.after(() => socket.destroy());
  socket.on('error', () => undefined);
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  const method = path.startsWith('/v1/vectors') ? 'PUT' : 'POST';
  socket.write(
    `${method} ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: ${type}\r\ncontent-length: ${declaredBytes}\r\n\r\n`,
  );
  const sent = typeof bytes === 'number' ? Buffer.from('{'.padEnd(bytes, ' ')) : bytes;
  await new Promise((resolve) => socket.write(sent, resolve));
  await loopTurns();
  return { socket, received: () => text };
}

/** Some turns of the loop, for sockets to be read. */
export async function loopTurns(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
}

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

export interface CuttingProxy {
  port: number;
  /** The next request whose bytes hold `text` is passed on; its answer is not, and the connection is reset instead. */
  cutAfter(text: string): void;
  /** How often that happened. */
  cuts(): number;
  /**
   * While true all bytes are lost and nobody hears of it, as on a broken line. What follows lost bytes on a connection never
   * comes either.
   */
  lose(bytes: boolean): void;
}

/** Between us and a server of 127.0.0.1. */
export async function startCuttingProxy(t: TestContext, serverPort: number): Promise<CuttingProxy> {
  let wanted: string | null = null;
  let cuts = 0;
  let losing = false;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(serverPort, '127.0.0.1');
    let cutting = false;
    let isLost = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {}).once('close', () => sockets.delete(socket));
    }
    client.on('data', (bytes) => {
      isLost ||= losing;
      if (isLost) return;
      if (wanted !== null && bytes.includes(wanted)) {
        wanted = null;
        cutting = true;
      }
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      isLost ||= losing;
      if (isLost) return;
      if (!cutting) {
        client.write(bytes);
        return;
      }
      // The server answers only for finished work.
      cuts += 1;
      client.resetAndDestroy();
      upstream.destroy();
    });
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => client.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    cutAfter(text) {
      wanted = text;
    },
    cuts: () => cuts,
    lose(bytes) {
      losing = bytes;
    },
  };
}

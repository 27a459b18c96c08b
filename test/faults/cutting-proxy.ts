import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

type End = 'cut' | 'lose' | 'cut and lose';

export interface CuttingProxy {
  port: number;
  /**
   * The next request whose bytes hold `text` is passed on; its answer is not, and the connection is reset instead.
   * `behind`: only on a connection that has passed this text on before. `cut and lose`: all bytes are lost from then on.
   */
  cutAfter(text: string, behind?: string, how?: 'cut' | 'cut and lose'): void;
  /** How often that happened. */
  cuts(): number;
  /** The next such request is answered, and behind its answer all bytes are lost. */
  loseAfter(text: string, behind?: string): void;
  /**
   * While true all bytes are lost and nobody hears of it, as on a broken line. What follows lost bytes on a connection never
   * comes either.
   */
  lose(bytes: boolean): void;
  /** Loses all further bytes of the connections that there are, as a firewall that has forgotten them; new ones work. */
  forget(): void;
}

/** Between us and a server of 127.0.0.1. */
export async function startCuttingProxy(t: TestContext, serverPort: number): Promise<CuttingProxy> {
  let wanted: { text: string; behind: string; end: End } | null = null;
  let cuts = 0;
  let losing = false;
  const sockets = new Set<Socket>();
  let forgotten = 0;
  const server = createServer((client) => {
    const upstream = connect(serverPort, '127.0.0.1');
    let end: End | null = null;
    let passed = '';
    let isLost = false;
    const since = forgotten;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {}).once('close', () => sockets.delete(socket));
    }
    client.on('data', (bytes) => {
      isLost ||= losing || since < forgotten;
      if (isLost) return;
      if (wanted !== null) {
        if (bytes.includes(wanted.text) && passed.includes(wanted.behind)) {
          end = wanted.end;
          wanted = null;
        }
        passed += bytes.toString('latin1');
      }
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      isLost ||= losing || since < forgotten;
      if (isLost) return;
      losing ||= end === 'lose' || end === 'cut and lose';
      if (end === null || end === 'lose') {
        client.write(bytes);
        end = null;
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
    cutAfter(text, behind = '', how = 'cut') {
      wanted = { text, behind, end: how };
    },
    cuts: () => cuts,
    loseAfter(text, behind = '') {
      wanted = { text, behind, end: 'lose' };
    },
    lose(bytes) {
      losing = bytes;
    },
    forget() {
      forgotten += 1;
    },
  };
}

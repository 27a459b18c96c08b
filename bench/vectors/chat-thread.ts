import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { createGatewayClient } from './gateway-client.ts';

/** Chats in a second, evenly, however long each takes. */
const chatsPerSecond = 40;
const chat = { model: 'same', messages: [{ role: 'user', content: 'What is the height of the tower? bench:whole' }] };

/**
 * Asks a running gateway for chats until `stop`, which resolves to the ms that each took. In a thread of its own: the
 * one that sends bodies of 10 MB would measure itself.
 */
export function startChats(port: number): { stop(): Promise<number[]> } {
  const thread = new Worker(new URL(import.meta.url), { workerData: { port } });
  return {
    stop: () =>
      new Promise((resolve, reject) => {
        thread.once('message', resolve);
        thread.once('error', reject);
        thread.postMessage('stop');
      }),
  };
}

if (parentPort !== null) {
  const client = createGatewayClient((workerData as { port: number }).port);
  let wanted = true;
  parentPort.once('message', () => {
    wanted = false;
  });
  const took: number[] = [];
  const running: Promise<void>[] = [];
  const startedMs = performance.now();
  for (let sent = 0; wanted; sent++) {
    await pause(Math.max(0, startedMs + (sent * 1_000) / chatsPerSecond - performance.now()));
    const sentMs = performance.now();
    running.push(
      client.send('POST', '/v1/chat/completions', chat).then(() => {
        took.push(performance.now() - sentMs);
      }),
    );
  }
  await Promise.all(running);
  client.close();
  parentPort.postMessage(took);
}

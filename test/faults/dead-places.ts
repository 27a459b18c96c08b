import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { closedPort } from '../start-process.ts';

/** A place where a port was open a moment ago: connections are refused. */
export async function closedPlace(): Promise<string> {
  return `http://127.0.0.1:${await closedPort()}`;
}

// A listener whose thread sleeps accepts nothing; once its queue is full, the kernel drops every further SYN.
const sleepingListener = `
const { createServer } = require('node:net');
const { parentPort, workerData } = require('node:worker_threads');
const server = createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
  parentPort.postMessage(server.address().port);
  setImmediate(() => Atomics.wait(workerData, 0, 0));
});`;

/** A SYN black hole on loopback: connecting neither succeeds nor fails. */
export async function blackHole(t: TestContext): Promise<string> {
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(sleepingListener, { eval: true, workerData: gate });
  const port = await new Promise<number>((resolve) => worker.once('message', resolve));
  const fillers: Socket[] = [];
  // Until one of them hangs: then all others do, too.
  for (;;) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    fillers.push(socket);
    await sleep(150);
    // On a busy machine the timer may be over before the connection that stands is read.
    for (let turn = 0; turn < 3 && socket.connecting; turn += 1) await nextTurn();
    if (socket.connecting) break;
  }
  t.after(async () => {
    for (const socket of fillers) socket.destroy();
    await worker.terminate();
  });
  return `http://127.0.0.1:${port}`;
}

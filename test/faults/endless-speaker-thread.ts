import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

const { opening, delta, sent } = workerData as { opening: string; delta: string; sent: SharedArrayBuffer };
const sentBytes = new BigInt64Array(sent);

const server = createServer((request, response) => {
  request.resume();
  if (request.method !== 'POST') {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(opening);
  const speak = () => {
    do Atomics.add(sentBytes, 0, BigInt(delta.length));
    while (response.write(delta));
  };
  response.on('drain', speak);
  response.on('close', () => parentPort!.postMessage('left'));
  speak();
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
parentPort!.postMessage(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);

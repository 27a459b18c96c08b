// node bare-relay.ts <port> <upstream port>: what node and ws cost alone, to read our own figures against.

import { WebSocket, WebSocketServer } from 'ws';

const [port, upstreamPort] = process.argv.slice(2).map(Number);

new WebSocketServer({ host: '127.0.0.1', port: port!, perMessageDeflate: false }).on('connection', (caller) => {
  const upstream = new WebSocket(`ws://127.0.0.1:${upstreamPort}/v1/realtime`, { perMessageDeflate: false });
  caller.pause();
  upstream.on('open', () => caller.resume());
  caller.on('message', (data, binary) => upstream.send(data, { binary }));
  upstream.on('message', (data, binary) => caller.send(data, { binary }));
  caller.on('close', () => upstream.terminate());
  upstream.on('close', () => caller.terminate());
});

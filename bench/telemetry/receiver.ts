// A receiver of OTLP that accepts everything and reads nothing: its cost is not measured.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

let bytes = 0;
const server = createServer((request, response) => {
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  request.on('end', () => response.end());
});
server.listen(0, '127.0.0.1', () => process.send!({ port: (server.address() as AddressInfo).port }));
process.on('message', () => process.send!({ bytes }));

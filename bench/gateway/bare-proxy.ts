// node bare-proxy.ts <port> <upstream port>: what node and undici cost alone, to read our own figures against.

import { createServer } from 'node:http';
import { Pool } from 'undici';

const [port, upstreamPort] = process.argv.slice(2).map(Number);
const pool = new Pool(`http://127.0.0.1:${upstreamPort}`, { connections: 1_024, pipelining: 1 });

createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => {
    const body = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
    const { method = 'GET', url: path = '/' } = request;
    const headers = { 'content-type': 'application/json' };
    pool.dispatch(
      { method: method as 'POST', path, headers, body: body.length === 0 ? null : body },
      {
        onRequestStart(controller) {
          response.once('close', () => {
            if (!response.writableFinished) controller.abort(new Error('the caller is gone'));
          });
        },
        onResponseStart(_controller, status, answered) {
          const kept = ['content-type', 'content-length'] as const;
          const told = kept.flatMap((name) => (answered[name] === undefined ? [] : [name, String(answered[name])]));
          response.writeHead(status, told);
        },
        onResponseData(_controller, chunk) {
          response.write(chunk);
        },
        onResponseEnd() {
          response.end();
        },
        onResponseError(_controller, error) {
          response.destroy(error);
        },
      },
    );
  });
}).listen(port, '127.0.0.1');

import { Agent, request } from 'node:http';
import { culvertHeaders } from '../gateway/processes.ts';

/** Load of a measurement for a running gateway, over connections that it keeps. */
export interface GatewayClient {
  /** Resolves to the answer's bytes; rejects unless it is a 200. */
  send(method: string, path: string, body?: Buffer | object): Promise<Buffer>;
  close(): void;
}

export function createGatewayClient(port: number): GatewayClient {
  const agent = new Agent({ keepAlive: true });
  const client: GatewayClient = {
    send(method, path, body) {
      return new Promise((resolve, reject) => {
        const bytes = body === undefined || Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
        const headers = {
          ...culvertHeaders,
          ...(bytes !== undefined && { 'content-type': 'application/json', 'content-length': bytes.length }),
        };
        const sent = request({ port, host: '127.0.0.1', method, path, headers, agent }, (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('end', () => {
            const answer = Buffer.concat(chunks);
            if (response.statusCode === 200) resolve(answer);
            else reject(new Error(`${method} ${path}: ${response.statusCode} ${answer.toString().slice(0, 300)}`));
          });
        });
        // A kept connection may end just as it is used again.
        sent.on('error', (error) => (sent.reusedSocket ? resolve(client.send(method, path, body)) : reject(error)));
        sent.end(bytes);
      });
    },
    close: () => agent.destroy(),
  };
  return client;
}

import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ServiceCall {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** What a service does with a question: the status and the JSON or text of its answer, perhaps later. */
export type Play = (call: ServiceCall) => Reply | Promise<Reply>;
type Reply = object | string | { status: number };

/** A service that guards ask: it keeps its calls and plays what a test sets. */
export async function startService(after: (end: () => void) => void) {
  const service = { url: '', calls: [] as ServiceCall[], play: (() => ({})) as Play, connections: 0 };
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const call = { path: request.url ?? '', headers: request.headers, body };
    service.calls.push(call);
    const reply = await service.play(call);
    const status = typeof reply === 'object' && 'status' in reply ? Number(reply.status) : 200;
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof reply === 'string' ? reply : JSON.stringify(reply));
  });
  server.on('connection', () => {
    service.connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return service;
}

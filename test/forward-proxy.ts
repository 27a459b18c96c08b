import http, { type IncomingMessage } from 'node:http';
import type { Http2SecureServer } from 'node:http2';
import net, { type AddressInfo, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** The server's port on loopback; it is closed after the test. */
export async function listening(t: TestContext, server: http.Server | Http2SecureServer): Promise<number> {
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  t.after(() => {
    if ('closeAllConnections' in server) server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A forward proxy that leads everybody to `port`, whatever they ask for, and keeps its orders. */
export async function startForwardProxy(
  t: TestContext,
  port: number,
  refuses?: number,
): Promise<{ url: string; orders: string[] }> {
  const orders: string[] = [];
  const ordered = ({ method, url, headers }: IncomingMessage) =>
    orders.push(`${method} ${url} ${headers['proxy-authorization'] ?? 'nobody'}`);
  const server = http.createServer((request, response) => {
    ordered(request);
    const path = new URL(request.url!).pathname;
    const { 'proxy-authorization': _, ...headers } = request.headers;
    const onward = http.request({ port, host: '127.0.0.1', path, method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  const tunnels = new Set<Socket>();
  server.on('connect', (request, socket: Socket) => {
    ordered(request);
    // Whoever was refused may be gone at once.
    socket.on('error', () => undefined);
    if (refuses !== undefined) return socket.end(`HTTP/1.1 ${refuses} No\r\nContent-Length: 0\r\n\r\n`);
    const onward = net.connect({ port, host: '127.0.0.1' }, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
    onward.on('error', () => undefined);
    for (const end of [socket, onward]) tunnels.add(end);
  });
  t.after(() => {
    for (const tunnel of tunnels) tunnel.destroy();
  });
  return { url: `127.0.0.1:${await listening(t, server)}`, orders };
}

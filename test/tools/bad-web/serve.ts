import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Lifetime } from '../../start-process.ts';
import type { Behaviours } from './behaviour.ts';

export interface BadSite {
  url: string;
  /** For `fetch.allow_private`. */
  place: string;
  /** Paths that were asked for, in order. */
  asked: string[];
}

/** On a free port until the end of the test. */
export async function serve(
  t: Lifetime,
  answer: (response: ServerResponse, request: IncomingMessage, site: BadSite) => void,
): Promise<BadSite> {
  const site: BadSite = { url: '', place: '', asked: [] };
  const server = createServer((request, response) => {
    site.asked.push(request.url ?? '');
    response.on('error', () => undefined);
    answer(response, request, site);
  });
  // Sockets that were taken from the server too.
  const sockets = new Set<{ destroy(): void }>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  site.place = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  site.url = `http://${site.place}`;
  return site;
}

/** `says nothing` → `/says-nothing` */
export function pathOf(name: string): string {
  return `/${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`;
}

/** A page for each, at its path; `/` links to all of them. */
export function serveAll(t: Lifetime, behaviours: Behaviours): Promise<BadSite> {
  const byPath = new Map(Object.entries(behaviours).map(([name, behaviour]) => [pathOf(name), behaviour]));
  const links = [...byPath.keys()].map((path) => `<li><a href="${path}">${path}</a></li>`).join('');
  return serve(t, (response, request) => {
    const { pathname } = new URL(request.url ?? '/', 'http://site');
    const behaviour = byPath.get(pathname);
    if (behaviour !== undefined) behaviour.answer(response, request);
    else if (pathname === '/')
      response.setHeader('content-type', 'text/html').end(`<h1>All of them</h1><ul>${links}</ul>`);
    else response.writeHead(404).end();
  });
}

// A site in a process of its own (forked by measure-crawl): pages of prose that link to each other.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hangingPage, sitePage } from './pages.ts';

const count = Number(process.argv[2]);
// Made beforehand: what serves must not cost the crawl its cores.
const pages = Array.from({ length: count }, (_, at) => Buffer.from(sitePage(at, count)));
const hanging = Buffer.from(hangingPage);

const server = createServer((request, response) => {
  const at = Number(/^\/p\/(\d+)$/.exec(request.url ?? '')?.[1] ?? (request.url === '/' ? 0 : Number.NaN));
  const page = request.url === '/hang' ? hanging : pages[at];
  if (page === undefined) response.writeHead(404, { 'content-type': 'text/plain' }).end('nothing here');
  else response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-length': page.length }).end(page);
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('disconnect', () => process.exit(0));

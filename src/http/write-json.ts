import type { JsonObject } from '../kernel/json.ts';
import type { Exchange } from './exchange.ts';
import { identityHeaders } from './write-failure.ts';

/** A whole JSON answer of a route that is not inference; `headers` is a flat list name, value… */
export function writeJson(exchange: Exchange, status: number, body: JsonObject, headers: readonly string[] = []): void {
  const bytes = Buffer.from(JSON.stringify(body));
  exchange.response.writeHead(status, [
    ...identityHeaders(exchange),
    'content-type',
    'application/json',
    'content-length',
    String(bytes.length),
    ...headers,
  ]);
  exchange.response.end(exchange.request.method === 'HEAD' ? undefined : bytes);
}

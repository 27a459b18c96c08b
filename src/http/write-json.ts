import type { JsonObject } from '../kernel/json.ts';
import type { Exchange } from './exchange.ts';
import { identityHeaders } from './write-failure.ts';

/** A whole JSON answer of a route that is not inference. */
export function writeJson(exchange: Exchange, status: number, body: JsonObject): void {
  const bytes = Buffer.from(JSON.stringify(body));
  exchange.response.writeHead(status, [
    ...identityHeaders(exchange),
    'content-type',
    'application/json',
    'content-length',
    String(bytes.length),
  ]);
  exchange.response.end(exchange.request.method === 'HEAD' ? undefined : bytes);
}

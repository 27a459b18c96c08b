import { sendWhole } from '../inference/spine/sink.ts';
import type { Exchange } from './exchange.ts';

/** A whole JSON answer of a route that is not inference; `headers` is a flat list name, value… */
export function writeJson(
  { client }: Pick<Exchange, 'client'>,
  status: number,
  body: object | string,
  headers: readonly string[] = [],
): void {
  sendWhole(client, headers, JSON.stringify(body), status);
}

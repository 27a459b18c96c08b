import { sendWhole } from '../inference/spine/sink.ts';
import type { JsonObject } from '../kernel/json.ts';
import type { Exchange } from './exchange.ts';

/** A whole JSON answer of a route that is not inference; `headers` is a flat list name, value… */
export function writeJson(
  { client }: Pick<Exchange, 'client'>,
  status: number,
  body: JsonObject | string,
  headers: readonly string[] = [],
): void {
  sendWhole(client, headers, JSON.stringify(body), status);
}

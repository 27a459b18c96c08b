import { sendWhole } from '../inference/spine/sink.ts';
import { withPublicErrorLinks } from '../kernel/error-topic.ts';
import type { JsonObject } from '../kernel/json.ts';
import type { Exchange } from './exchange.ts';

/** A whole JSON answer of a route that is not inference; `headers` is a flat list name, value… */
export function writeJson(
  { client, publicUrl }: Pick<Exchange, 'client' | 'publicUrl'>,
  status: number,
  body: JsonObject,
  headers: readonly string[] = [],
): void {
  const json = JSON.stringify(body);
  sendWhole(client, headers, status < 400 ? json : withPublicErrorLinks(json, publicUrl), status);
}

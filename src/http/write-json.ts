import { refuse, sendWhole } from '../inference/spine/sink.ts';
import type { Failure } from '../kernel/failure.ts';
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

/** Refuses a call in the format of its route, with the limits of its caller. */
export function refuseCall({ client, admitted }: Pick<Exchange, 'client' | 'admitted'>, failure: Failure): null {
  refuse(client, failure, admitted?.headers ?? []);
  return null;
}

import type { Socket } from 'node:net';
import { request as httpRequest } from '../../kernel/web/node-http.ts';
import { ConnectFailure, codeOf } from './transport-error.ts';

export interface TunnelOrder {
  /** A connection to the proxy, which becomes the tunnel. */
  socket: Socket;
  /** Host and port of the origin. */
  place: string;
  authorization: string | null;
}

/**
 * Asks a proxy to pass everything on to `place` (CONNECT, RFC 9110 §9.3.6). `done` is called once; null: what follows
 * is the origin's.
 */
export function askForTunnel(order: TunnelOrder, done: (refused: ConnectFailure | null) => void): void {
  const { socket, place, authorization } = order;
  const request = httpRequest({
    method: 'CONNECT',
    path: place,
    headers: { host: place, ...(authorization === null ? {} : { 'proxy-authorization': authorization }) },
    createConnection: () => socket,
  });
  request.once('connect', ({ statusCode = 0 }, _, head) => {
    // An origin of TLS does not speak first.
    const isTunnel = statusCode >= 200 && statusCode < 300 && head.length === 0;
    done(isTunnel ? null : new ConnectFailure('connect', `PROXY_${statusCode}`));
  });
  request.once('error', (error) => done(new ConnectFailure('connect', `PROXY_${codeOf(error)}`)));
  request.end();
}

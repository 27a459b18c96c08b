import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Failure, forbidden } from '../kernel/failure.ts';

/**
 * CORS for the origins named in `server.cors_origins` (`*` = any); nothing for others, so that a browser refuses.
 * True when the request was a preflight and is answered.
 */
export function applyCors(request: IncomingMessage, response: ServerResponse, origins: readonly string[]): boolean {
  const { origin } = request.headers;
  if (origin === undefined || !(origins.includes(origin) || origins.includes('*'))) return false;
  const allowed = ['access-control-allow-origin', origin, 'vary', 'origin', 'access-control-expose-headers', '*'];
  if (isPreflight(request)) {
    response.writeHead(204, [
      ...allowed,
      'access-control-allow-methods',
      'GET, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers',
      request.headers['access-control-request-headers'] ?? '*',
      'access-control-max-age',
      '600',
    ]);
    response.end();
    return true;
  }
  // Merged by node into the header list of whatever answer follows.
  for (let i = 0; i < allowed.length; i += 2) response.setHeader(allowed[i]!, allowed[i + 1]!);
  return false;
}

/** The refusal of a preflight for an origin that may not call; null: it is no preflight. */
export function originRefused(request: IncomingMessage): Failure | null {
  if (!isPreflight(request)) return null;
  const origin = (request.headers.origin ?? '').slice(0, 200);
  const message = `Pages of ${origin} may not call this server from a browser: server.cors_origins does not name it.`;
  return forbidden(message);
}

function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

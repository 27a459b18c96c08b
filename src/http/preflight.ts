import type { IncomingMessage } from 'node:http';
import { type Failure, invalid } from '../kernel/failure.ts';

/**
 * What node's own parser lets through and a proxy must not (faults.md S6): two Host headers, an absolute-form target,
 * a Host that could move the path, two Authorizations of which node shows one. Null when the request is fit to be routed.
 */
export function preflight(request: IncomingMessage): Failure | null {
  const target = request.url ?? '';
  if (target.charCodeAt(0) !== 0x2f) return invalid(null, 'The request target must be a path that begins with /.');
  const { rawHeaders } = request;
  let hosts = 0;
  let authorization: string | null = null;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
    if (name.length === 13 && name.toLowerCase() === 'authorization') {
      const value = rawHeaders[i + 1]!;
      if (authorization !== null && authorization !== value) return twoAuthorizations;
      authorization = value;
    }
  }
  if (hosts > 1) return invalid(null, 'The request has more than one Host header.');
  const host = request.headers.host;
  if (host !== undefined && !isPlainHost(host)) return invalid(null, 'The Host header is not a plain host and port.');
  return null;
}

const twoAuthorizations: Failure = {
  kind: 'unauthenticated',
  message: 'The request has two different Authorization headers; send one.',
};

/** Letters, digits, `.-_~` and, for IPv6 literals and ports, `[]:%`. */
function isPlainHost(host: string): boolean {
  return host.length <= 255 && /^[\w.~:[\]%-]*$/.test(host);
}

/** A caller's own request id, if it is one that can stand in logs and headers. */
export function saneRequestId(value: string | string[] | undefined): string | null {
  return typeof value === 'string' && /^[\w.:-]{1,128}$/.test(value) ? value : null;
}

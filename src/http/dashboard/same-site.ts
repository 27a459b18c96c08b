import type { Config } from '../../config/schema.ts';
import { type Failure, forbidden } from '../../kernel/failure.ts';
import type { Exchange } from '../exchange.ts';
import { linkBaseOf } from '../link-base.ts';

const crossSite = forbidden(
  'This request comes from a page of another site. Open the dashboard of this server itself.',
);

/**
 * Refuses a request that a page of another site makes a browser send; null when there is no sign of one. Programs send
 * no such headers. The body opens a session, so neither cookie nor token would keep a foreign page from logging a user
 * in as another one.
 */
export function crossSiteFailure({ request }: Exchange, server: Config['server']): Failure | null {
  const { origin, 'sec-fetch-site': site } = request.headers;
  // Browsers send it where they trust the address: https, and this machine.
  if (typeof site === 'string') return site === 'same-origin' || site === 'none' ? null : crossSite;
  if (origin === undefined) return null;
  // A proxy that ends TLS may not say so: the host is what counts.
  return hostOf(origin) === hostOf(linkBaseOf(request, server)) ? null : crossSite;
}

function hostOf(url: string): string | null {
  return URL.parse(url)?.host ?? null;
}

import type { Services } from '../../../inference/endpoints/services.ts';
import type { Failure } from '../../../kernel/failure.ts';
import type { Exchange, Route } from '../../exchange.ts';
import { linkBaseOf } from '../../link-base.ts';
import { withOtherFormat } from '../../other-format.ts';
import { placeIn } from '../list-page.ts';

/** Beginnings of paths. Google's SDKs take the first up to their version 2, the other from 3 on. */
export const googleVersions = ['v1beta', 'v1'] as const;

/** The header that Google's SDKs send their key in: its callers want Google's format where a path has several. */
const googleKeyHeader = 'x-goog-api-key';

/** The name of a file behind `files/`: without a dash, which Google's clients do not read in addresses. */
export function fileNameOf(id: string): string {
  return id.replace('file-', '');
}

export function fileIdOf(name: string): string {
  return `file-${name}`;
}

/** Page token of a list whose ids begin so, as `placeIn` reads it; null: the first page, for which some send ''. */
export function pageTokenIn(query: URLSearchParams, idPrefix: string): string | Failure | null {
  return query.get('pageToken') === '' ? null : placeIn(query, 'pageToken', idPrefix);
}

/** The beginning of links to this server. */
export function linkOf({ services }: { services: Services }, { request }: Exchange): string {
  return linkBaseOf(request, services.snapshots.current.config.server);
}

/** Routes, with those of Google's at the same paths for callers with its header. */
export function withGoogleFormat(routes: readonly Route[], google: readonly Route[]): Route[] {
  const both = withOtherFormat(routes, googleKeyHeader, google);
  const isNew = (one: Route) => !routes.some(({ method, path }) => method === one.method && path === one.path);
  return [...both, ...google.filter(isNew)];
}

import { nearest } from '../kernel/nearest.ts';
import type { Route } from './exchange.ts';

type Named = Pick<Route, 'method' | 'path'>;

/**
 * The route that a caller of `path`, where there is none, probably meant: the same path with or without `/v1` or what
 * other servers have before it (`/openai/v1`, `/api/v1`), one typing error away, or the nearest below the same beginning;
 * of two methods the caller's. Its parameters are filled from `path`. Null when none is near.
 */
export function nearestRoute<R extends Named>(method: string, path: string, routes: readonly R[]): R | null {
  const requested = path.toLowerCase().replace(/\/+$/, '');
  const candidates = new Map<string, R>();
  for (const route of routes) {
    // Every path begins with it.
    if (route.path === '/') continue;
    const filled = filledFrom(path, route.path);
    // A part that is too long for a name gives no hint.
    if (filled === path) continue;
    // Its first word must be the caller's: what fills the others is near to everything.
    if (filled !== route.path && nearest(firstOf(path), [firstOf(route.path)]) === null) continue;
    const known = candidates.get(filled.toLowerCase());
    if (known === undefined || known.method !== method)
      candidates.set(filled.toLowerCase(), { ...route, path: filled });
  }
  const withoutPrefix = requested.replace(/^(\/v\d+(beta)?)+(?=\/)/, '');
  const fromVersion = /^\/[^/]+(\/v\d+(?:beta)?\/.+)$/.exec(requested)?.[1] ?? requested;
  for (const spelling of [requested, `/v1${withoutPrefix}`, withoutPrefix, fromVersion]) {
    const same = candidates.get(spelling);
    if (same !== undefined) return same;
  }
  // A version is no typing error: `/v1/chat` means a path below `/v1` before it means `/v2/chat`.
  const version = /^\/v\d+(?:beta)?\//.exec(requested)?.[0] ?? '/';
  const ofVersion = [...candidates.keys()].filter((candidate) => candidate.startsWith(version));
  const found =
    nearest(requested, ofVersion) ??
    nearest(requested, candidates.keys()) ??
    nearest(`/v1${withoutPrefix}`, candidates.keys());
  return found === null ? null : candidates.get(found)!;
}

function firstOf(path: string): string {
  return path.split('/', 2)[1] ?? '';
}

/** `/v1/x/:name/points` with the caller's own part in place of `:name`, where both have as many parts. */
function filledFrom(path: string, pattern: string): string {
  const [segments, parts] = [path.split('/'), pattern.split('/')];
  if (segments.length !== parts.length) return pattern;
  return parts.map((part, at) => (part.startsWith(':') || part === '*' ? segments[at] || part : part)).join('/');
}

/**
 * Path of the server below that of its host, such as `/culvert` behind a reverse proxy, else ''. Known by where this script
 * came from, so that one build works below any path. The dev server, which is at no path, has its scripts elsewhere.
 */
export const serverPath = /^(.*)\/dashboard\/assets\/[^/]+$/.exec(new URL(import.meta.url).pathname)?.[1] ?? '';

/** Beginning of addresses of this server, without a slash at its end. */
export const serverUrl = location.origin + serverPath;

/** The place of the page below the path of the server. */
export function placeNow(): string {
  return location.pathname.slice(serverPath.length);
}

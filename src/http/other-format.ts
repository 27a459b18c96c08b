import type { Route } from './exchange.ts';

/** The same routes, each of which answers callers with `header` as the one of `others` at its method and path does. */
export function withOtherFormat(routes: readonly Route[], header: string, others: readonly Route[]): Route[] {
  return routes.map((route) => {
    const other = others.find(({ method, path }) => method === route.method && path === route.path);
    return other === undefined
      ? route
      : { ...route, otherFormats: [...(route.otherFormats ?? []), { header, route: other }] };
  });
}

import createRouter from 'find-my-way';
import type { Route } from './exchange.ts';

/** Of one part of a path: names are refused in words by who knows their rules, long before. */
const paramCharsMax = 4_096;

const methodsTried = ['GET', 'POST', 'HEAD', 'PUT', 'PATCH', 'DELETE'] as const;

export interface FoundRoute {
  route: Route;
  params: Readonly<Record<string, string | undefined>>;
}

/** Which route a call names, and what stands beside one that names none. */
export interface RouteTable {
  find(method: string, path: string): FoundRoute | null;
  /** Those that `path` answers. */
  methodsOf(path: string): readonly string[];
  /** The route that stands at or above `path`. */
  above(path: string): Route | null;
  /** The endpoints without parameters as a sentence, for who names none. */
  readonly listed: string;
}

export function createRouteTable(routes: readonly Route[]): RouteTable {
  const router = createRouter({ maxParamLength: paramCharsMax });
  const listed = routes
    .filter(({ path }) => path.startsWith('/v1/') && !path.includes(':'))
    .map(({ method, path }) => `${method} ${path}`);
  const prefixes = routes.map((route) => ({ route, prefix: `${route.path}/` }));
  for (const route of routes) router.on(route.method, route.path, () => undefined, route);

  /** A GET route answers HEAD too, as RFC 9110 §9.1 demands; node leaves the body out. */
  function find(method: string, path: string): FoundRoute | null {
    const found = router.find(method as 'GET', path) ?? (method === 'HEAD' ? router.find('GET', path) : null);
    return found === null ? null : { route: found.store as Route, params: found.params };
  }

  return {
    find,
    methodsOf: (path) => methodsTried.filter((method) => find(method, path) !== null),
    above: (path) =>
      prefixes.find(({ route, prefix }) => path === route.path || path.startsWith(prefix))?.route ?? null,
    listed: `Endpoints: ${listed.join(', ')}.`,
  };
}

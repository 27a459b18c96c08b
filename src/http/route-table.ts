import type { IncomingHttpHeaders } from 'node:http';
import createRouter from 'find-my-way';
import { openAiChat } from '../formats/dialects/openai-chat/index.ts';
import type { Failure } from '../kernel/failure.ts';
import { nearest } from '../kernel/nearest.ts';
import { putNewest } from '../kernel/put-newest.ts';
import { withoutBase } from '../kernel/web/base-path.ts';
import type { Exchange, Route } from './exchange.ts';
import { otherBaseOf, writtenOnce } from './other-base.ts';

/** Dialect of errors for requests that name no route. */
export const defaultDialect: Route['dialect'] = openAiChat;

/** Longest part of a path. Rooms that know the rules of their names refuse shorter ones in words. */
const pathPartCharsMax = 4_096;
/**
 * Looks for what a path without a route may have meant, which cost as much as three chats, and those that are kept. Nobody
 * needs a key for one: beyond these a refusal has no hint.
 */
const looksASecond = 100;
const meantMax = 256;
const methodsTried = ['GET', 'POST', 'HEAD', 'PUT', 'PATCH', 'DELETE'] as const;
/** Parts of a path without parameters. */
export const noParams: Exchange['params'] = {};

export interface FoundRoute {
  route: Route;
  params: Exchange['params'];
  /** Path below the route's base. */
  path: string;
}

let newest = { paths: '', router: createRouter() };

/**
 * Router to the place of a route among `routes`. Gateways of one process have mostly the same paths, and compiling those
 * takes half of a start: the newest router is theirs too.
 */
function routerOf(routes: readonly Route[]) {
  const paths = routes.map(({ method, path }) => `${method} ${path}`).join('\n');
  if (paths === newest.paths) return newest.router;
  const router = createRouter({ maxParamLength: pathPartCharsMax });
  for (const [at, { method, path }] of routes.entries()) router.on(method, path, () => undefined, { at });
  newest = { paths, router };
  return router;
}

/** Finds the route of a request, or says why there is none. */
export class RouteTable {
  /** Routes of POST whose path is all that can be asked: most requests need no search. */
  readonly plainPosts = new Map<string, FoundRoute>();
  private readonly routes: readonly Route[];
  private readonly router: ReturnType<typeof routerOf>;
  /** By method and path. */
  private readonly meant = new Map<string, Route | null>();
  private readonly nowMs: () => number;
  private readonly basePath: () => string;
  private countedSinceMs = Number.NEGATIVE_INFINITY;
  private looks = 0;

  /** `nowMs`: a monotonic clock. `basePath`: path before all others, which proxies leave there or take away. */
  constructor(
    routes: readonly Route[],
    nowMs: () => number = () => performance.now(),
    basePath: () => string = () => '',
  ) {
    this.routes = routes;
    this.nowMs = nowMs;
    this.basePath = basePath;
    this.router = routerOf(routes);
    for (const route of routes) {
      if (route.method === 'POST' && !/[:*(]/.test(route.path)) {
        this.plainPosts.set(route.path, { route, params: noParams, path: route.path });
      }
    }
  }

  /**
   * A GET route answers HEAD too, as RFC 9110 §9.1 demands; node leaves the body out. `isInner`: the path of this server is
   * taken away already.
   */
  find(method: string, path: string, isInner = false): FoundRoute | null {
    const found = this.router.find(method as 'GET', path) ?? (method === 'HEAD' ? this.router.find('GET', path) : null);
    const route = found === null ? undefined : this.routes[found.store.at];
    if (found === null || route === undefined || namesNothing(found.params)) return this.below(method, path, isInner);
    return { route, params: found.params, path };
  }

  /** The route below the path of this server, or below the base URL of another one's clients for endpoints that need a key. */
  private below(method: string, path: string, isInner: boolean): FoundRoute | null {
    const inner = isInner ? path : this.inner(path);
    const below = inner === path ? null : this.find(method, inner, true);
    if (below !== null) return below;
    const once = writtenOnce(method, path);
    if (once !== path) {
      const meant = this.find(method, once, isInner);
      return meant?.route.auth === 'key' ? meant : null;
    }
    const other = otherBaseOf(path);
    const found = other === null ? null : this.router.find(method as 'GET', other.path);
    const route = found === null ? undefined : this.routes[found.store.at];
    if (other === null || found === null || route?.auth !== 'key' || namesNothing(found.params)) return null;
    const { deployment } = other;
    const params = deployment === undefined ? found.params : { ...found.params, deployment };
    return { route, params, path: other.path };
  }

  /** The path without that of this server, which RFC 8615 has behind `/.well-known/…`. */
  private inner(path: string): string {
    const base = this.basePath();
    const at = base === '' ? 0 : (/^\/\.well-known\/[\w-]+(?=\/)/.exec(path)?.[0].length ?? 0);
    return path.slice(0, at) + withoutBase(path.slice(at), base);
  }

  /**
   * For a path without a route: the dialect of the route above it, or of more than half of the routes right below its
   * first two parts (`/v1/tools`), or anywhere below its first (`/v1beta`, `/v2`).
   */
  dialectNear(path: string): Route['dialect'] {
    const { routes } = this;
    const inner = this.inner(path);
    const above = routes.find((one) => inner === one.path || inner.startsWith(`${one.path}/`));
    if (above !== undefined) return above.dialect;
    const [, first, second] = inner.split('/', 3);
    const beside = `/${first}/${second}/`;
    return (
      mostlyIn(routes.filter((one) => one.path.startsWith(beside) && !one.path.includes('/', beside.length))) ??
      mostlyIn(routes.filter((one) => one.path.startsWith(`/${first}/`))) ??
      defaultDialect
    );
  }

  /** For a path without a route: the dialect of callers with such a header (`Route.otherFormats`); undefined: none has. */
  dialectOf(headers: IncomingHttpHeaders): Route['dialect'] | undefined {
    for (const { otherFormats } of this.routes) {
      const other = otherFormats?.find(({ header }) => headers[header] !== undefined);
      if (other !== undefined) return other.route.dialect;
    }
    return undefined;
  }

  /** The route that was probably meant; null: none is near, or too many others came. */
  private meantBy(method: string, path: string): Route | null {
    const request = `${method} ${path}`;
    const known = this.meant.get(request);
    if (known !== undefined) return known;
    const nowMs = this.nowMs();
    if (nowMs - this.countedSinceMs >= 1_000) {
      this.countedSinceMs = nowMs;
      this.looks = 0;
    }
    this.looks += 1;
    if (this.looks > looksASecond) return null;
    const found = nearestRoute(method, path, this.routes);
    putNewest(this.meant, request, found, meantMax);
    return found;
  }

  /** The refusal of a path without a route, in the words of the route that was probably meant, if there is one. */
  refusalOf(method: string, path: string): { failure: Failure; dialect?: Route['dialect'] | undefined } {
    if (!isEncoded(path)) {
      const message = 'The path is not percent-encoded UTF-8. Write a literal % as %25.';
      return { failure: { kind: 'not-found', message } };
    }
    const shown = path.slice(0, 200);
    const allowed = methodsTried.filter((one) => this.find(one, path) !== null);
    if (allowed.length > 0) return { failure: { kind: 'method-not-allowed', method, path: shown, allowed } };
    const inner = this.inner(path);
    const meant = this.meantBy(method, inner.slice(0, 200));
    const door = vendorDoors.find(([pattern]) => pattern.test(inner))?.[1];
    const hint = door ?? (meant === null ? '' : ` Did you mean ${meant.method} ${meant.path}?`);
    const message = `There is no ${shown} here.${hint} GET /openapi.json lists every path.`;
    return { failure: { kind: 'not-found', message }, dialect: meant?.dialect };
  }
}

/** Doors here for paths of vendors whose SDKs take a base URL. */
const vendorDoors: readonly (readonly [RegExp, string])[] = [
  [/^\/v1\/(listen|speech-to-text)\b/, " It is Deepgram's or ElevenLabs's path: send POST /v1/audio/transcriptions."],
  [
    /^\/v[12]\/(de)?tokenize$/,
    " It is Cohere's path: send it to /passthrough/{provider}/v1/… where the operator opened that, or count tokens by POST /v1/messages/count_tokens.",
  ],
  [/^\/v[12]\/(classify|summarize)$/, " It is Cohere's path: ask a model for it by POST /v2/chat."],
  [
    /^(\/v1)?\/(key|team|user)\/(generate|new|list|info|update|delete)$/,
    " It is LiteLLM's path: keys and accounts are managed below /admin/v1, with the admin key.",
  ],
  [/^\/v1\/openai\//, " Azure's SDKs add /openai to their address: give them this one without /v1."],
  [/^\/v1\/(speak|text-to-speech)\b/, " It is Deepgram's or ElevenLabs's path: send POST /v1/audio/speech."],
];

/** Whether a named part of the path is empty (`/v1/files/`): it is a list with a slash too many, not an object. */
function namesNothing(params: Exchange['params']): boolean {
  for (const name in params) if (params[name] === '' && name !== '*') return true;
  return false;
}

/** The router takes the path of an invalid route for one that nobody has. */
function isEncoded(path: string): boolean {
  try {
    // The bundler drops a call whose result nobody uses, taking it for pure.
    return decodeURIComponent(path) !== '';
  } catch {
    return false;
  }
}

type Named = Pick<Route, 'method' | 'path'>;

/**
 * The route that a caller of `path`, where there is none, probably meant: the same path with or without `/v1` or what
 * other servers have before it (`/openai/v1`, `/api/v1`), one word more, one typing error away, or the nearest below the
 * same beginning; of two methods the caller's. Its parameters are filled from `path`. Null when none is near.
 */
function nearestRoute<R extends Named>(method: string, path: string, routes: readonly R[]): R | null {
  const requested = path.toLowerCase().replace(/\/+$/, '');
  const candidates = new Map<string, R>();
  let completed: R | null = null;
  for (const route of routes) {
    // Every path begins with it.
    if (route.path === '/') continue;
    const whole = completedFrom(path, route.path);
    if (whole !== null && completed?.method !== method) completed = { ...route, path: whole };
    const filled = filledFrom(path, route.path);
    // A part that is too long for a name gives no hint, and a pattern is no path.
    if (filled === path || filled.includes('*')) continue;
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
  if (completed !== null) return completed;
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

/** `pattern` with the caller's parts where `path` lacks one of its words, behind the first three; null: it lacks more. */
function completedFrom(path: string, pattern: string): string | null {
  const [segments, parts] = [path.split('/'), pattern.split('/')];
  if (parts.length !== segments.length + 1) return null;
  const completed = parts.map((word, at) => (at > 3 ? segments.toSpliced(at, 0, word).join('/') : ''));
  return completed.find((whole, at) => !/^[:*]/.test(parts[at]!) && filledFrom(whole, pattern) === whole) ?? null;
}

/** The dialect of more than half of these routes; undefined: there is none. */
function mostlyIn(routes: readonly Route[]): Route['dialect'] | undefined {
  const dialects = routes.map((one) => one.dialect);
  return [...new Set(dialects)].find((one) => dialects.filter((other) => other === one).length * 2 > dialects.length);
}

import { answered, unheard } from './connection.ts';
import { serverPath } from './server-path.ts';

export type Query = Record<string, string | number | boolean | null | undefined>;

export interface CallOptions {
  query?: Query;
  /** Sent as JSON; a string unchanged. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Culvert's error, in its own words. */
export class ApiError extends Error {
  readonly status: number;
  readonly type: string;
  /** The field that is wrong; null when none is. */
  readonly param: string | null;
  /** Everything in the body except `error`. */
  readonly members: Readonly<Record<string, unknown>>;

  constructor(status: number, body: unknown) {
    const { error, ...members } = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
    const details = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
    super(typeof details.message === 'string' ? details.message : unexplained(status));
    this.status = status;
    this.type = typeof details.type === 'string' ? details.type : 'unknown';
    this.param = typeof details.param === 'string' ? details.param : null;
    this.members = members;
  }
}

/** Culvert names a reason; a proxy in front of it answers so while Culvert restarts. */
function unexplained(status: number): string {
  const next = status >= 500 ? ' Try again in a moment.' : '';
  return `A proxy in front of Culvert seems to have answered with status ${status}.${next}`;
}

/** The shell asks for the next login. */
class SessionEnded extends ApiError {
  constructor() {
    super(401, {
      error: { message: 'The session had ended, and nothing was changed. Log in, and try again.' },
    });
  }
}

/** Nobody answered. The shell says so, and repeats the page's calls once they do. */
export class ConnectionError extends Error {
  constructor() {
    super('Culvert does not answer. What you typed is kept.');
  }
}

/** The browser has another session than this page: its person has logged in again elsewhere. */
class SessionReplaced extends ApiError {
  constructor() {
    super(403, {
      error: { message: 'You have logged in again in another tab, and nothing was changed. Try again.' },
    });
  }
}

const csrfHeader = 'x-culvert-csrf';
let csrfToken: string | null = null;
/** There was a session, and the next one has not begun. */
let hasEnded = false;
let changes = { onEnd: () => {}, onNext: () => {} };

/** Sets what happens when a call finds that the session has ended, and when the next one begins. */
export function onSessionChange(next: typeof changes): void {
  changes = next;
}

/** The server refused the token of the page: the session is another one. */
let wasReplaced = false;

/** Sets the token of the session, which goes with every call that changes something. */
export function setCsrf(token: string | null): void {
  const isNext = token !== null && (hasEnded || (wasReplaced && token !== csrfToken));
  hasEnded = token === null && (hasEnded || csrfToken !== null);
  wasReplaced = false;
  csrfToken = token;
  if (isNext) changes.onNext();
}

/** Address of a path of this server, which may have a query already. */
export function url(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value));
  }
  const separator = search.size === 0 ? '' : path.includes('?') ? '&' : '?';
  return serverPath + path + separator + search;
}

/** The answer as it comes, of whatever status it is below 400. Throws ApiError, ConnectionError and the signal's reason. */
export async function send(method: string, path: string, options: CallOptions = {}): Promise<Response> {
  const { query, body, signal } = options;
  // The server lists each refused request: a page that reads again every few seconds would fill its list.
  if (hasEnded && !path.startsWith('/dashboard/')) throw new SessionEnded();
  const headers = new Headers(options.headers);
  // A page may still know the token of the session before.
  if (csrfToken !== null && (method !== 'GET' || headers.has(csrfHeader))) headers.set(csrfHeader, csrfToken);
  const raw = typeof body === 'string' || body instanceof FormData;
  if (body !== undefined && !raw && !headers.has('content-type')) headers.set('content-type', 'application/json');
  const sent = body === undefined ? null : raw ? (body as string | FormData) : JSON.stringify(body);
  let response: Response;
  try {
    response = await fetch(url(path, query), { method, headers, body: sent, signal: signal ?? null });
  } catch (error) {
    if (signal?.aborted) throw error;
    unheard();
    throw new ConnectionError();
  }
  answered();
  if (response.ok) return response;
  // The server's message is for programs: it names the headers that take a key.
  if (response.status === 401 && csrfToken !== null && !path.startsWith('/dashboard/')) {
    changes.onEnd();
    throw new SessionEnded();
  }
  const failure = new ApiError(response.status, await response.json().catch(() => null));
  // Words for programs again, which name the header.
  if (response.status === 403 && headers.has(csrfHeader) && failure.message.includes(csrfHeader)) {
    wasReplaced = true;
    changes.onEnd();
    throw new SessionReplaced();
  }
  throw failure;
}

/** One JSON answer; null for one without a body. */
export async function call<Reply>(method: string, path: string, options?: CallOptions): Promise<Reply> {
  const response = await send(method, path, options);
  const text = await response.text().catch((error: unknown) => {
    if (options?.signal?.aborted) throw error;
    unheard();
    throw new ConnectionError();
  });
  if (text === '') return null as Reply;
  try {
    return JSON.parse(text) as Reply;
  } catch {
    throw new Error(
      'The answer is not from Culvert: a proxy in front of it may ask for a login. Log in there in another tab, and try again.',
    );
  }
}

export function get<Reply>(
  path: string,
  query?: Query,
  signal?: AbortSignal,
  headers?: Record<string, string>,
): Promise<Reply> {
  return call<Reply>('GET', path, { query, signal, headers });
}

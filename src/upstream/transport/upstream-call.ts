import type { Connected, Opening } from './connect.ts';
import type { ForwardProxy } from './proxy.ts';
import type { TransportError } from './transport-error.ts';

/** One HTTP exchange with an upstream, reported by callbacks; nothing is copied or awaited on the way. */
export interface UpstreamRequest {
  /** Scheme, host, port. */
  origin: string;
  /** Absent: by the environment's proxy if it has one, and by the system's certificates. */
  route?: UpstreamRoute | undefined;
  /** Path and query. */
  path: string;
  method: 'POST' | 'GET' | 'PUT' | 'PATCH' | 'DELETE';
  /** Flat list name, value, name, value…; values are already safe. Without Host, Content-Length, Accept-Encoding. */
  headers: readonly string[];
  /** Adds the headers that prove who asks; absent: `headers` say it already. */
  authorize?: Authorizer | undefined;
  body: Buffer | string | UpstreamUpload | null;
  /** `unsent`: not sent again on another socket where the upstream may have begun to work on it. Absent: the transport's rule. */
  repeats?: 'unsent' | undefined;
  connectTimeoutMs: number;
  /** The outer guard above an attempt's own timers, exact to a second: silence before the head, and within the body. */
  headersTimeoutMs: number;
  bodyTimeoutMs: number;
}

/**
 * Gives the headers (a flat list) that prove who asks, at once or later: a signature over the request as it is sent, or
 * a token that expires, which is fetched over the `transport`. Called once a request, right before it is sent; it may
 * complete the request's path by what only the credentials tell. Throws or rejects with `NotAuthorized`.
 */
export type Authorizer = (
  request: UpstreamRequest,
  transport: Transport,
) => readonly string[] | Promise<readonly string[]>;

/** No proof of who asks could be had. The message names the step that was tried, and no secret. */
export class NotAuthorized extends Error {}

/** How an origin is reached. */
export interface UpstreamRoute {
  /** Requests of one id and one origin share connections. */
  id: string;
  /** `off`: straight. */
  proxy: ForwardProxy | 'off' | 'environment';
  /** PEM. Certificates to trust in addition to the system's. */
  ca: string | undefined;
  /** PEM. Sent to an origin that asks for a client certificate. */
  cert: string | undefined;
  key: string | undefined;
  /** If an https:// origin offers it: up to a hundred exchanges share a connection. */
  http2?: boolean;
}

/** A body that is read while it is sent, since it is never whole in memory. */
export interface UpstreamUpload {
  /** Its whole length. */
  bytes: number;
  /** From its beginning; called again when it must be sent again. Closed early when nobody takes the rest. */
  open(): AsyncIterable<Buffer>;
}

export function isUploadBody(body: UpstreamRequest['body']): body is UpstreamUpload {
  return body !== null && typeof body === 'object' && 'open' in body;
}

/**
 * After `failed` or `ended` nothing more is called, and after `abort` nothing at all; nothing is called before `send`
 * has returned.
 */
export interface UpstreamObserver {
  /** 1xx never come here. Header names are lower case; a repeated one is joined by `, `. */
  headers(status: number, headers: UpstreamHeaders): void;
  /** Decompressed bytes; the buffer may be kept. */
  data(chunk: Buffer): void;
  ended(): void;
  failed(error: TransportError): void;
}

export interface UpstreamHeaders {
  get(name: string): string | undefined;
  /** Lower case. */
  names(): Iterable<string>;
}

export interface UpstreamCall {
  /** Closes the exchange's socket at once, in whatever state. Idempotent. */
  abort(): void;
  /** Stops reading from the upstream's socket until `resume`; a chunk that was read already may still come. */
  pause(): void;
  resume(): void;
}

export interface Transport {
  send(request: UpstreamRequest, observer: UpstreamObserver): UpstreamCall;
  /** A socket to an origin, reached as requests reach it, and never over HTTP/2. It belongs to the caller. */
  connect(to: Pick<UpstreamRequest, 'origin' | 'route' | 'connectTimeoutMs'>, connected: Connected): Opening;
  /** Lets running calls finish, then closes every socket; new ones fail. */
  close(): Promise<void>;
  /** Closes every socket now; running calls fail as `reset`. */
  destroy(): void;
}

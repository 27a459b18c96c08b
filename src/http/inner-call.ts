import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { Exchange, Route } from './exchange.ts';

/** A call of one of our own routes, made within the process for a caller who is known already. */
export interface InnerRequest {
  params: Readonly<Record<string, string>>;
  /** What would stand behind the `?`; '' for nothing. */
  search: string;
  /** JSON; null for a call without a body. */
  body: Buffer | null;
}

export interface InnerAnswer {
  status: number;
  body: Buffer;
}

/** Told on as they came: links to this server are made of them (link-base). */
const passedHeaders = ['host', 'x-forwarded-proto'] as const;

/**
 * Runs the handler of `route` as if `outer`'s caller had sent this request: the same checks, costs and errors. Its
 * admission must stand in `outer.admitted`. Null when the caller left (`signal`) before there was an answer.
 */
export async function callRoute(
  route: Route,
  asked: InnerRequest,
  outer: Exchange,
  signal: AbortSignal,
): Promise<InnerAnswer | null> {
  const response = new InnerResponse();
  const leave = () => response.leave();
  signal.addEventListener('abort', leave, { once: true });
  if (signal.aborted) response.leave();
  try {
    await route.handle({
      ...outer,
      request: innerRequest(route, asked, outer.request),
      response: response as unknown as ServerResponse,
      path: route.path,
      search: asked.search,
      params: asked.params,
      route,
    });
  } finally {
    signal.removeEventListener('abort', leave);
  }
  return response.answer;
}

function innerRequest(route: Route, { body }: InnerRequest, outer: IncomingMessage): IncomingMessage {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  for (const name of passedHeaders) {
    const value = outer.headers[name];
    if (typeof value === 'string') headers[name] = value;
  }
  const stream = Readable.from(body === null ? [] : [body], { objectMode: false });
  return Object.assign(stream, {
    method: route.method,
    headers,
    socket: outer.socket,
    complete: true,
  }) as unknown as IncomingMessage;
}

/** What handlers use of a response, kept instead of sent. */
class InnerResponse extends EventEmitter {
  headersSent = false;
  writableFinished = false;
  destroyed = false;
  readonly writableLength = 0;
  readonly socket = null;
  #status = 200;
  #body: Buffer | null = null;

  get answer(): InnerAnswer | null {
    return this.#body === null ? null : { status: this.#status, body: this.#body };
  }

  getHeaderNames(): string[] {
    return [];
  }

  writeHead(status: number): this {
    this.headersSent = true;
    this.#status = status;
    return this;
  }

  end(body: Buffer | string = '', encoding: BufferEncoding = 'utf8'): this {
    this.#body = typeof body === 'string' ? Buffer.from(body, encoding) : body;
    this.writableFinished = true;
    this.emit('close');
    return this;
  }

  /** As if the connection had closed. */
  leave(): void {
    if (this.writableFinished) return;
    this.destroyed = true;
    this.emit('close');
  }
}

import { AsyncLocalStorage } from 'node:async_hooks';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { fetch } from 'undici';
import type { JsonWidth } from '../../kernel/json.ts';
import { loopWidthMax } from '../../kernel/parse-object.ts';
import type { Connect } from '../../upstream/transport/connect.ts';
import { fetchAgent } from '../../upstream/transport/fetch-agent.ts';
import { boundedAnswer, type Received } from './bounded-answer.ts';
import type { CallNews } from './call-news.ts';
import type { CallerInput } from './input-rounds.ts';
import { McpFault, McpFaultError } from './mcp-fault.ts';
import { repeatsBody } from './param-headers.ts';

/** The request that a fetch belongs to. The SDK has one signal for a whole session only. */
export interface CallInProgress extends Received {
  signal: AbortSignal;
  /** Takes news of it; absent: nobody wants any. */
  news?: CallNews | undefined;
  /** The caller's part in it; absent: the caller answers no questions. */
  input?: CallerInput | undefined;
  /** Headers that repeat some of its arguments for proxies. */
  params?: Readonly<Record<string, string>> | undefined;
  /** HTTP requests for it so far. */
  requests: number;
  /** Credentials that were sent for it, which no message may tell. */
  sent: Set<string>;
  /** Ends it: the SDK would wait for an answer that cannot come any more. */
  fail(fault: McpFault): void;
}

export const callInProgress = new AsyncLocalStorage<CallInProgress>();

/** HTTP for sessions with MCP servers. */
export interface McpFetch {
  fetch: FetchLike;
  /** Ends its connections at once. */
  close(): Promise<void>;
}

export interface McpFetchOptions {
  /** How the sockets to an origin are opened. */
  connectTo(origin: URL): Connect;
  /** Size of all answers to one request, decompressed: pages of a list count together. */
  bytesMax: number;
  /** How much one message may hold. Default: what a caller's body may. */
  width?: JsonWidth;
}

/** Bound on messages that no call waits for, such as a cancellation. */
const messageTimeoutMs = 10_000;
const headerBytesMax = 16 * 1024;
/** HTTP requests for one call: pages of a list, and streams that a server breaks off and lets us go on. */
const requestsMax = 256;

/** Connections are kept between calls, and there are as many as concurrent calls. */
export function createMcpFetch({ connectTo, bytesMax, width = loopWidthMax }: McpFetchOptions): McpFetch {
  const agent = fetchAgent(connectTo, { maxHeaderSize: headerBytesMax, keepAliveTimeout: 30_000 });

  return {
    async fetch(url, init = {}) {
      const call = callInProgress.getStore();
      const headers = new Headers(init.headers);
      // A stream for news, which would remain open for every session: nobody waits for news.
      if (isNewsStream(init.method, headers)) return new Response(null, { status: 405 });
      if (call !== undefined && ++call.requests > requestsMax) {
        const fault = new McpFault('broken', `let one call take more than ${requestsMax} requests`);
        call.fail(fault);
        throw new McpFaultError(fault);
      }
      headers.delete('host');
      if (call !== undefined) for (const secret of credentialsIn(headers)) call.sent.add(secret);
      const signals = [init.signal, call?.signal ?? AbortSignal.timeout(messageTimeoutMs)];
      const signal = AbortSignal.any(signals.filter((one) => one != null));
      const response = await fetch(url, { ...(init as object), headers: [...headers], signal, dispatcher: agent });
      const { status, statusText } = response;
      const body = response.body === null ? null : (response.body as ReadableStream<Uint8Array>);
      const id = response.ok ? requestIdIn(init) : null;
      const fail = (fault: McpFault) => call?.fail(fault);
      if (id !== null && (body === null || status === 202))
        fail(new McpFault('broken', `answered ${status}, without a result`));
      const contentType = response.headers.get('content-type') ?? '';
      const bounded = boundedAnswer({
        contentType,
        id,
        bytesMax,
        width,
        received: call ?? { bytes: 0, events: 0 },
        fail,
      });
      return new Response(body?.pipeThrough(bounded) ?? null, { status, statusText, headers: [...response.headers] });
    },
    close: () => agent.destroy(),
  };
}

/** A GET that goes on where a stream ended names the last event. */
function isNewsStream(method: string | undefined, headers: Headers): boolean {
  return method === 'GET' && headers.get('accept') === 'text/event-stream' && !headers.has('last-event-id');
}

/** The SDK writes the id last. Null: it is a notification or a reply, or no message at all. */
function requestIdIn({ method, body }: RequestInit): string | null {
  if (method !== 'POST' || typeof body !== 'string') return null;
  return /"id":(\d+)\}$/.exec(body.slice(-40))?.[1] ?? null;
}

const plainHeaders: ReadonlySet<string> = new Set([
  'accept',
  'content-type',
  'last-event-id',
  'mcp-protocol-version',
  'user-agent',
]);

function credentialsIn(headers: Headers): string[] {
  return [...headers].flatMap(([name, value]) => {
    if (plainHeaders.has(name) || repeatsBody(name)) return [];
    const word = value.slice(value.lastIndexOf(' ') + 1);
    return [value, word];
  });
}

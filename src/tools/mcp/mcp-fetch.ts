import { AsyncLocalStorage } from 'node:async_hooks';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { Agent, type buildConnector, fetch } from 'undici';
import type { Connect } from '../../upstream/transport/connect.ts';
import { McpFault } from './mcp-fault.ts';

/** The request that a fetch belongs to. The SDK has one signal for a whole session only. */
export interface CallInProgress {
  signal: AbortSignal;
  /** Size of all answers to it so far, decompressed. */
  bytes: number;
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
}

const connectTimeoutMs = 5_000;
/** Bound on messages that no call waits for, such as a cancellation. */
const messageTimeoutMs = 10_000;
const headerBytesMax = 16 * 1024;

/** Connections are kept between calls, and there are as many as concurrent calls. */
export function createMcpFetch({ connectTo, bytesMax }: McpFetchOptions): McpFetch {
  const agent = new Agent({
    connect({ protocol, host }: buildConnector.Options, connected: buildConnector.Callback) {
      connectTo(new URL(`${protocol}//${host}`))(connectTimeoutMs, (error, socket) => {
        if (socket === null) connected(error!, null);
        else connected(null, socket);
      });
    },
    allowH2: false,
    maxHeaderSize: headerBytesMax,
    keepAliveTimeout: 30_000,
  });

  return {
    async fetch(url, init = {}) {
      const call = callInProgress.getStore();
      const headers = new Headers(init.headers);
      // A stream for news, which would remain open for every session: nobody waits for news.
      if (isNewsStream(init.method, headers)) return new Response(null, { status: 405 });
      headers.delete('host');
      const signals = [init.signal, call?.signal ?? AbortSignal.timeout(messageTimeoutMs)];
      const signal = AbortSignal.any(signals.filter((one) => one != null));
      const response = await fetch(url, { ...(init as object), headers: [...headers], signal, dispatcher: agent });
      const { status, statusText } = response;
      const body = response.body === null ? null : (response.body as ReadableStream<Uint8Array>);
      return new Response(body?.pipeThrough(bounded(bytesMax, call)) ?? null, {
        status,
        statusText,
        headers: [...response.headers],
      });
    },
    close: () => agent.destroy(),
  };
}

/** A GET that goes on where a stream ended names the last event. */
function isNewsStream(method: string | undefined, headers: Headers): boolean {
  return method === 'GET' && headers.get('accept') === 'text/event-stream' && !headers.has('last-event-id');
}

function bounded(
  bytesMax: number,
  call: Pick<CallInProgress, 'bytes'> & Partial<CallInProgress> = { bytes: 0 },
): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream({
    transform(chunk, controller) {
      call.bytes += chunk.length;
      if (call.bytes <= bytesMax) return controller.enqueue(chunk);
      const fault = new McpFault('too-large', `answered with more than ${bytesMax} bytes`);
      call.fail?.(fault);
      controller.error(new Error(fault.message));
    },
  });
}

import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';
import { upstreamBodyBytesMax } from '../../kernel/limits.ts';
import { createSseReader } from '../../upstream/transport/sse-reader.ts';
import { note } from '../print.ts';
import { errorIn, errorTextCharsMax, reach, type ServerFlags, serverAndKey } from '../running-server.ts';
import { untilSignal } from '../until-signal.ts';

const serverError = -32_000;

/** `culvert mcp`: carries MCP messages between standard input and output and the `/mcp` of a running server. */
export async function mcp(flags: ServerFlags): Promise<number> {
  const { url, key } = serverAndKey(flags);
  const stdio = new StdioServerTransport();
  const bridge = new Bridge(url, key, (message) => stdio.send(message));
  const ended = new Promise<void>((resolve) => {
    stdio.onclose = resolve;
    process.stdin.once('end', resolve);
  });
  stdio.onmessage = (message) => bridge.carry(message);
  stdio.onerror = (error) => note(`A message could not be read: ${error.message}`);
  await stdio.start();
  const stopped = untilSignal().then(() => bridge.abandon());
  await Promise.race([ended.then(() => bridge.idle()), stopped]);
  await stdio.close();
  return 0;
}

/** One POST a message: the server keeps no session. */
class Bridge {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #send: (message: JSONRPCMessage) => Promise<void>;
  /** Requests under way, by id. */
  readonly #pending = new Map<RequestId, AbortController>();
  readonly #running = new Set<Promise<void>>();

  constructor(url: string, key: string, send: (message: JSONRPCMessage) => Promise<void>) {
    this.#url = url;
    this.#headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    this.#send = send;
  }

  carry(message: JSONRPCMessage): void {
    // The caller no longer waits. The server learns it when that connection ends.
    if ('method' in message && message.method === 'notifications/cancelled') {
      this.#pending.get(message.params?.requestId as RequestId)?.abort();
      return;
    }
    const id = 'method' in message && 'id' in message ? message.id : null;
    const running = this.#post(message, id).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves once every request has its answer. */
  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  abandon(): void {
    for (const pending of this.#pending.values()) pending.abort();
  }

  async #post(message: JSONRPCMessage, id: RequestId | null): Promise<void> {
    const leaving = new AbortController();
    if (id !== null) this.#pending.set(id, leaving);
    try {
      const answer = await this.#answerTo(message, leaving.signal);
      if (id !== null) await this.#send(answer ?? failed(id, 'The server gave no answer.'));
    } catch (error) {
      if (leaving.signal.aborted) return;
      const reason = error instanceof Error ? error.message : String(error);
      if (id === null) note(reason);
      else await this.#send(failed(id, reason));
    } finally {
      if (id !== null) this.#pending.delete(id);
    }
  }

  /** The answer in a stream, whose notifications are passed on as they come; null: it has none. */
  async #answerInStream(body: ReadableStream<Uint8Array>): Promise<JSONRPCMessage | null> {
    let answer: JSONRPCMessage | null = null;
    // Lines end as those of events do: JSON may hold what ends a line of text.
    const reader = createSseReader({ eventBytesMax: upstreamBodyBytesMax });
    for await (const chunk of body) {
      for (const { data } of reader.push(Buffer.from(chunk))) {
        const message = JSON.parse(data) as JSONRPCMessage;
        if ('method' in message) await this.#send(message);
        else answer = message;
      }
      if (reader.tooLarge) throw new Error(`${this.#url}/mcp sent a message above ${upstreamBodyBytesMax} bytes.`);
    }
    return answer;
  }

  /** Null: the server accepted the message and has nothing to say. Throws a sentence otherwise. */
  async #answerTo(message: JSONRPCMessage, signal: AbortSignal): Promise<JSONRPCMessage | null> {
    const headers = { ...this.#headers, ...headersOf(message) };
    const init = { method: 'POST', headers, body: JSON.stringify(message), signal };
    const response = await reach(this.#url, '/mcp', init);
    if (response.body !== null && response.headers.get('content-type')?.startsWith('text/event-stream'))
      return this.#answerInStream(response.body);
    const text = await response.text();
    if (!response.ok) {
      const answered = answerIn(text, message);
      if (answered !== null) return answered;
      const errorMessage = errorIn(text.slice(0, errorTextCharsMax))?.message;
      throw new Error(errorMessage ?? `${this.#url} answered ${response.status} ${response.statusText}`.trim());
    }
    if (text === '') return null;
    try {
      return JSON.parse(text) as JSONRPCMessage;
    } catch {
      throw new Error(`${this.#url}/mcp does not speak MCP. Check that the URL is that of a Culvert server.`);
    }
  }
}

/** Members that the revision without sessions wants in addition to a message; none for other revisions. */
function headersOf(message: JSONRPCMessage): Record<string, string> {
  if (!('method' in message)) return {};
  const version = message.params?._meta?.['io.modelcontextprotocol/protocolVersion'];
  if (typeof version !== 'string') return {};
  const name = message.params?.name ?? message.params?.uri;
  return {
    'mcp-protocol-version': headerText(version),
    'mcp-method': headerText(message.method),
    ...(typeof name === 'string' && { 'mcp-name': headerText(name) }),
  };
}

function headerText(text: string): string {
  const plain = /^[!-~]([ -~]*[!-~])?$/.test(text) && !text.startsWith('=?base64?');
  return plain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}

/** A refusal that is an answer to this very message; null: it is not of the protocol. */
function answerIn(text: string, message: JSONRPCMessage): JSONRPCMessage | null {
  try {
    const answer = JSON.parse(text) as JSONRPCMessage & { id?: unknown };
    return 'id' in message && answer.jsonrpc === '2.0' && answer.id === message.id ? answer : null;
  } catch {
    return null;
  }
}

function failed(id: RequestId, message: string): JSONRPCMessage {
  return { jsonrpc: '2.0', id, error: { code: serverError, message } };
}

import { type Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { createSseReader } from '../../upstream/transport/sse-reader.ts';
import { causeOf, errorIn } from '../running-server.ts';

export interface Order {
  url: URL;
  headers: Readonly<Record<string, string>>;
  body: string;
  form: 'whole' | 'stream';
  agent: Agent;
  signal: AbortSignal;
}

/** Outcome of one request. Times are ms from its start. */
export interface Answered {
  /** The HTTP status; a word when there is none, such as `ECONNRESET`, or `cut` for a stream without its end. */
  outcome: string;
  ok: boolean;
  ms: number;
  firstTokenMs: number | null;
  /** Message of an error; null otherwise. */
  message: string | null;
}

const requestTimeoutMs = 120_000;
const eventBytesMax = 1024 * 1024;
const errorCharsMax = 64 * 1024;

/** One chat request to its end. Never rejects. */
export async function askOnce(order: Order): Promise<Answered> {
  const startedMs = performance.now();
  const passedMs = () => performance.now() - startedMs;
  const failed = (outcome: string, message: string | null): Answered => ({
    outcome,
    ok: false,
    ms: passedMs(),
    firstTokenMs: null,
    message,
  });
  try {
    const response = await send(order);
    const status = response.statusCode ?? 0;
    if (status !== 200) return failed(String(status), errorIn(await textOf(response))?.message ?? null);
    if (order.form === 'whole') {
      for await (const _ of response);
      return { outcome: '200', ok: true, ms: passedMs(), firstTokenMs: null, message: null };
    }
    const { firstTokenMs, end } = await readStream(response, passedMs);
    if (end !== 'whole') return failed(end, null);
    return { outcome: '200', ok: true, ms: passedMs(), firstTokenMs, message: null };
  } catch (error) {
    return failed(order.signal.aborted ? 'interrupted' : causeOf(error), null);
  }
}

function send({ url, headers, body, agent, signal }: Order): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const open = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const request = open(url, {
      method: 'POST',
      agent,
      signal,
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    });
    request.setTimeout(requestTimeoutMs, () =>
      request.destroy(Object.assign(new Error('timeout'), { code: 'timeout' })),
    );
    request.once('response', resolve);
    request.once('error', reject);
    request.end(body);
  });
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) if (text.length < errorCharsMax) text += chunk;
  return text;
}

async function readStream(
  response: IncomingMessage,
  passedMs: () => number,
): Promise<{ firstTokenMs: number | null; end: 'whole' | 'cut' | 'error event' }> {
  const reader = createSseReader({ eventBytesMax });
  let firstTokenMs: number | null = null;
  let end: 'whole' | 'cut' | 'error event' = 'cut';
  for await (const chunk of response) {
    for (const { data } of reader.push(chunk as Buffer)) {
      if (data === '[DONE]') end = 'whole';
      else if (firstTokenMs === null && /"(content|refusal|arguments|reasoning_content)":"[^"]/.test(data))
        firstTokenMs = passedMs();
      else if (data.startsWith('{"error"')) end = 'error event';
    }
  }
  return { firstTokenMs, end };
}

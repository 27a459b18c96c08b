import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';
import { isObject, type JsonObject, type JsonValue } from '../../src/kernel/json.ts';

/** One recorded HTTP exchange, as far as a conversation needs it. */
export interface Exchange {
  /** Path below the folder, and place in the file. */
  from: string;
  /** Address of the service; for a fixture without one, an address from its shape and its path. */
  url: string;
  /** The recorded request; null when only the answer was kept. */
  request: JsonObject | null;
  /** Headers of the request that say how it is to be read, in lower case. */
  requestHeaders: Readonly<Record<string, string>>;
  status: number;
  /** The answer: JSON, or SSE text. */
  answer: string;
  form: 'whole' | 'streamed';
}

/** What a recording file may hold of a message: headers in any case, one or several values each. */
export type RecordedHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Headers in lower case, the first value of each. */
export function headersOf(recorded: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  if (Array.isArray(recorded)) {
    // HAR: [{name, value}].
    for (const one of recorded) if (isObject(one)) headers[String(one.name).toLowerCase()] = String(one.value);
  } else if (isObject(recorded)) {
    for (const [name, value] of Object.entries(recorded)) {
      headers[name.toLowerCase()] = String(Array.isArray(value) ? value[0] : value);
    }
  }
  return headers;
}

/** An exchange from its parts; null when its answer cannot be that of a conversation. */
export function exchangeOf(
  from: string,
  request: { url: string; headers: Record<string, string>; body: unknown },
  response: { status: number; headers: Record<string, string>; body: unknown },
): Exchange | null {
  const answer = textOf(response.body, response.headers['content-encoding']);
  if (answer === null || answer.trim() === '') return null;
  return {
    from,
    url: request.url,
    request: jsonOf(request.body, request.headers['content-encoding']),
    requestHeaders: request.headers,
    status: response.status,
    answer,
    form: /^\s*(event|data|id|retry)?:/.test(answer) ? 'streamed' : 'whole',
  };
}

/** Bodies come as text, as bytes (perhaps packed) or, where a recorder parsed them, as what the JSON said. */
export function textOf(body: unknown, encoding = ''): string | null {
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return unpacked(Buffer.from(body), encoding);
  return body === null || body === undefined ? null : JSON.stringify(body);
}

function jsonOf(body: unknown, encoding = ''): JsonObject | null {
  const text = textOf(body, encoding);
  const value = text === null ? undefined : parsed(text);
  return isObject(value) ? value : null;
}

/** Undefined when it is not JSON. */
export function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

function unpacked(bytes: Buffer, encoding: string): string {
  try {
    if (bytes[0] === 0x1f && bytes[1] === 0x8b) return gunzipSync(bytes).toString('utf8');
    if (encoding === 'br') return brotliDecompressSync(bytes).toString('utf8');
    if (encoding === 'zstd') return zstdDecompressSync(bytes).toString('utf8');
    if (encoding === 'deflate') return inflateSync(bytes).toString('utf8');
  } catch {
    // Recorders unpack and leave the header.
  }
  return bytes.toString('utf8');
}

import { ConnectionError } from '../../api/request.ts';
import { serverPath } from '../../api/server-path.ts';

export interface TrialAnswer {
  status: number;
  ms: number;
  type: string;
  body: Body;
}

/** Results that are not text can be saved. `cut`: more came than is kept, and of bytes nothing is. */
type Body = { kind: 'text'; text: string; cut: boolean } | { kind: 'bytes'; blob: Blob; cut: boolean };

/** A backup or a stream may be of any size. */
const textBytesMax = 200_000;
const bytesMax = 50_000_000;

/** Sends a prepared call; an error of the server is an answer, too. Throws ConnectionError, and that it was stopped. */
export async function sendTrial(path: string, init: RequestInit): Promise<TrialAnswer> {
  const startedMs = Date.now();
  try {
    const response = await fetch(serverPath + path, init);
    const type = response.headers.get('content-type') ?? '';
    const body = await bodyOf(response, type);
    return { status: response.status, ms: Date.now() - startedMs, type, body };
  } catch {
    if (init.signal?.aborted) throw new Error('You stopped the call. What it did until then stays.');
    throw new ConnectionError();
  }
}

async function bodyOf(response: Response, type: string): Promise<Body> {
  if (/^(audio|image|video)\/|octet-stream|zip/.test(type)) {
    const { parts, cut } = await beginning(response, bytesMax);
    return { kind: 'bytes', blob: new Blob(cut ? [] : parts, { type }), cut };
  }
  const { parts, cut } = await beginning(response, textBytesMax);
  const text = await new Blob(parts).text();
  return { kind: 'text', text: cut ? text : readable(text, type), cut };
}

async function beginning(
  { body }: Response,
  most: number,
): Promise<{ parts: Uint8Array<ArrayBuffer>[]; cut: boolean }> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  if (body === null) return { parts, cut: false };
  const reader = body.getReader();
  for (let size = 0; size <= most; ) {
    const { done, value } = await reader.read();
    if (done) return { parts, cut: false };
    parts.push(value);
    size += value.byteLength;
  }
  await reader.cancel();
  return { parts, cut: true };
}

function readable(text: string, type: string): string {
  if (!type.includes('json')) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

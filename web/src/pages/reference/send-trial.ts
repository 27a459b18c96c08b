import { ConnectionError } from '../../api/request.ts';

export interface TrialAnswer {
  status: number;
  ms: number;
  type: string;
  text: string;
  /** More came than is kept. */
  cut: boolean;
}

/** A backup or a stream may be of any size. */
const charsMax = 200_000;

/** Sends a call as it was put together; an error of the server is an answer, too. Throws ConnectionError. */
export async function sendTrial(path: string, init: RequestInit): Promise<TrialAnswer> {
  const startedMs = Date.now();
  try {
    const response = await fetch(path, init);
    const { text, cut } = await beginning(response);
    const type = response.headers.get('content-type') ?? '';
    return { status: response.status, ms: Date.now() - startedMs, type, text: readable(text, type, cut), cut };
  } catch {
    throw new ConnectionError();
  }
}

async function beginning({ body }: Response): Promise<{ text: string; cut: boolean }> {
  if (body === null) return { text: '', cut: false };
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { text: text + decoder.decode(), cut: false };
    text += decoder.decode(value, { stream: true });
    if (text.length <= charsMax) continue;
    await reader.cancel();
    return { text: text.slice(0, charsMax), cut: true };
  }
}

function readable(text: string, type: string, cut: boolean): string {
  if (cut || !type.includes('json')) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

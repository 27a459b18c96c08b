import { answerKept, type TestGateway } from '../start-gateway.ts';

export type Format = 'chat' | 'messages' | 'responses' | 'gemini';

/** A conversation of one question, as every format can say it. */
export interface Question {
  text?: string;
  model?: string;
  stream?: boolean;
  key?: string;
  headers?: Record<string, string>;
  /** Further members of the body. */
  more?: Record<string, unknown>;
  signal?: AbortSignal;
}

const system = 'be good';

export const formats: Record<Format, { path(model: string, stream: boolean): string; body(text: string): object }> = {
  chat: {
    path: () => '/v1/chat/completions',
    body: (text) => ({
      messages: [
        { role: 'system', content: system },
        { role: 'user', content: text },
      ],
      max_tokens: 100,
    }),
  },
  messages: {
    path: () => '/v1/messages',
    body: (text) => ({ system, messages: [{ role: 'user', content: text }], max_tokens: 100 }),
  },
  responses: {
    path: () => '/v1/responses',
    body: (text) => ({ instructions: system, input: text, max_output_tokens: 100, store: false }),
  },
  gemini: {
    path: (model, stream) => `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: (text) => ({
      systemInstruction: { parts: [{ text: system }] },
      contents: [{ role: 'user', parts: [{ text }] }],
      generationConfig: { maxOutputTokens: 100 },
    }),
  },
};

export interface Asked {
  status: number;
  /** From the question to the end of the answer. */
  ms: number;
  headers: Headers;
  /** `x-culvert-cache`, without the age. */
  cache: string | null;
  body: string;
  /** All texts that the model said, joined. */
  text: string;
}

/** Asks a question in a format. */
export async function ask(gateway: TestGateway, format: Format, question: Question = {}): Promise<Asked> {
  const { text = 'hi', model = 'chat', stream = false, key = gateway.key, headers = {}, more = {}, signal } = question;
  const { path, body } = formats[format];
  const named = format === 'gemini' ? {} : { model, ...(stream && { stream }) };
  const startMs = performance.now();
  const sinceMs = Date.now();
  const response = await gateway.fetch(path(model, stream), {
    json: { ...named, ...body(text), ...more },
    headers: { authorization: `Bearer ${key}`, ...headers },
    ...(signal !== undefined && { signal }),
  });
  const answer = await response.text();
  const ms = performance.now() - startMs;
  const said = response.headers.get('x-culvert-cache');
  if (said?.startsWith('miss') === true) await answerKept(gateway, sinceMs);
  const values = !answer.startsWith('{') ? eventsIn(answer) : [JSON.parse(answer)];
  return {
    status: response.status,
    ms,
    headers: response.headers,
    cache: said === null ? null : (said.split(';')[0] ?? null),
    body: answer,
    text: textOf(values),
  };
}

export function eventsIn(answer: string): Record<string, unknown>[] {
  return answer.split('\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []));
}

/** Of deltas, and of whole answers; the events of Responses repeat the text at their end, which is left out. */
function textOf(values: readonly Record<string, unknown>[]): string {
  let text = '';
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    else if (typeof value === 'object' && value !== null) {
      for (const [name, one] of Object.entries(value)) {
        if (typeof one !== 'string') visit(one);
        else if (name === 'text' || name === 'content') text += one;
      }
    }
  };
  for (const value of values) {
    if (value.type === 'response.output_text.delta') text += value.delta;
    else if (!String(value.type).startsWith('response.')) visit(value);
  }
  return text;
}

/** An answer without its ids and times, which are new each time. */
export function withoutIds(answer: string): string {
  return answer
    .replaceAll(/"(id|responseId|item_id)":\s*"[^"]*"/g, '"$1":"ID"')
    .replaceAll(/"(created|created_at|completed_at)":\s*\d+/g, '"$1":0')
    .replaceAll(/"obfuscation":"[^"]*"/g, '');
}

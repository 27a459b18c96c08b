import { hash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';

/**
 * An upstream that answers a question by its last turn, and embeds texts as bags of words: texts with the same words
 * are near, in whatever order, and those that differ in one of many nearly as near.
 */
export interface StartedAsked {
  url: string;
  /** Conversations and embeddings so far. */
  asked: number;
  embedded: number;
  /** What it says to a question, which is the last turn of the body. */
  answer: (question: string, body: AskedBody) => string;
  /** The vector of a text; a bag of its words unless another is set. */
  embedding: (text: string) => number[];
  /** Embeddings are not answered while it is set. */
  silent: boolean;
}

export interface AskedBody {
  model?: string;
  input?: string[] | string;
  messages?: { role?: string; content: string | { text?: string }[] }[];
  stream?: boolean;
}

const size = 256;

export async function startAsked(t: Pick<TestContext, 'after'>): Promise<StartedAsked> {
  const started: StartedAsked = {
    url: '',
    asked: 0,
    embedded: 0,
    answer: (question) => question,
    embedding: bagOf,
    silent: false,
  };
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += piece;
    if (request.method !== 'POST') return void response.writeHead(404).end();
    const body = JSON.parse(text) as AskedBody;
    if (body.input !== undefined) {
      started.embedded += 1;
      if (started.silent) return;
      const data = [body.input]
        .flat()
        .map((one, index) => ({ object: 'embedding', index, embedding: started.embedding(one) }));
      const usage = { prompt_tokens: 8, total_tokens: 8 };
      response.writeHead(200, { 'content-type': 'application/json' });
      return void response.end(JSON.stringify({ object: 'list', model: 'bag', data, usage }));
    }
    started.asked += 1;
    const last = body.messages?.at(-1)?.content ?? '';
    const question = typeof last === 'string' ? last : last.map((part) => part.text ?? '').join('\n');
    const said = started.answer(question, body);
    const head = { id: `c${started.asked}`, created: 1, model: 'm' };
    const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };
    if (body.stream !== true) {
      const choices = [{ index: 0, message: { role: 'assistant', content: said }, finish_reason: 'stop' }];
      response.writeHead(200, { 'content-type': 'application/json' });
      return void response.end(JSON.stringify({ ...head, object: 'chat.completion', choices, usage }));
    }
    const chunk = (delta: object, finish_reason: string | null, more: object = {}) => {
      const choices = [{ index: 0, delta, finish_reason }];
      return `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...more })}\n\n`;
    };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`${chunk({ content: said }, null)}${chunk({}, 'stop', { usage })}data: [DONE]\n\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  started.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return started;
}

/** A bag of words, as a vector. */
export function bagOf(text: string): number[] {
  // What all texts have in common.
  const bag = new Array<number>(size).fill(3);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    const at = hash('sha256', word, 'buffer').readUInt32LE(0) % size;
    bag[at] = (bag[at] ?? 0) + 1;
  }
  return bag;
}

const openings = [
  '',
  'Please tell me ',
  'I want to know ',
  'Hello, ',
  'Can you tell me ',
  'Could you please tell me ',
  'I need to know ',
];
const endings = ['', '?', ' please', ', thanks!', ' really?', ', please.'];

/** Spellings of one question, all different. The first is the question itself. */
export function spellings(question: string): string[] {
  return openings.flatMap((opening) => endings.map((ending) => `${opening}${question}${ending}`));
}

const openingOf = new RegExp(`(^|Question: )(${openings.slice(1).join('|')})`);
const endingOf = new RegExp(
  `(${endings
    .slice(1)
    .map((ending) => ending.replaceAll(/[?.]/g, '\\$&'))
    .join('|')})(?=$|\\n)`,
);

/** The question of a spelling, also within a template that writes "Question: " before it. */
export function questionIn(spelling: string): string {
  return spelling.replace(openingOf, '$1').replace(endingOf, '');
}

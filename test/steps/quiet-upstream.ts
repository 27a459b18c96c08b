import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { quietOut } from './shout-step.ts';

const said = `one ${quietOut} two ${quietOut}`;
/** Cut within the word. */
const pieces = ['one quie', 'tou', 't two qu', 'ieto', 'ut'];
const args = JSON.stringify({ to: quietOut, more: `${quietOut}!` });
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

/** A PNG of one black pixel. */
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYGAAAAAEAAH2FzhVAAAAAElFTkSuQmCC';

type Answer = (stream: boolean) => unknown[] | object | string;

const answers: Record<string, Answer> = {
  '/v1/chat/completions': (stream) => {
    const head = { id: 'c', created: 1, model: 'm' };
    const calls = (json: string) => [{ index: 0, id: 't', type: 'function', function: { name: 'f', arguments: json } }];
    if (!stream) {
      const message = { role: 'assistant', content: said, reasoning_content: said, tool_calls: calls(args) };
      return {
        ...head,
        object: 'chat.completion',
        choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
        usage,
      };
    }
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      ...{ ...head, object: 'chat.completion.chunk' },
      choices: [{ index: 0, delta, finish_reason }],
    });
    return [
      ...pieces.map((piece) => chunk({ reasoning_content: piece })),
      ...pieces.map((piece) => chunk({ content: piece })),
      chunk({ tool_calls: calls(args.slice(0, 9)) }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: args.slice(9) } }] }),
      chunk({}, 'tool_calls'),
      { ...head, object: 'chat.completion.chunk', choices: [], usage },
      '[DONE]',
    ];
  },
  '/v1/messages': (stream) => {
    const counted = { input_tokens: 1, output_tokens: 1 };
    const head = { id: 'm', type: 'message', role: 'assistant', model: 'm', stop_sequence: null, usage: counted };
    const input = JSON.parse(args);
    if (!stream) {
      const content = [
        { type: 'text', text: said },
        { type: 'tool_use', id: 't', name: 'f', input },
      ];
      return { ...head, content, stop_reason: 'tool_use' };
    }
    const delta = (index: number, one: object) => ({ type: 'content_block_delta', index, delta: one });
    return [
      { type: 'message_start', message: { ...head, content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      ...pieces.map((text) => delta(0, { type: 'text_delta', text })),
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 't', name: 'f', input: {} } },
      delta(1, { type: 'input_json_delta', partial_json: args.slice(0, 12) }),
      delta(1, { type: 'input_json_delta', partial_json: args.slice(12) }),
      { type: 'content_block_stop', index: 1 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ];
  },
  '/v1/completions': (stream) => {
    const head = { id: 'c', object: 'text_completion', created: 1, model: 'm' };
    const choice = (text: string, finish_reason: string | null = null) => ({
      index: 0,
      text,
      finish_reason,
      logprobs: null,
    });
    if (!stream) return { ...head, choices: [choice(said, 'stop')], usage };
    return [
      ...pieces.map((piece) => ({ ...head, choices: [choice(piece)] })),
      { ...head, choices: [choice('', 'stop')], usage },
      '[DONE]',
    ];
  },
  '/v1/audio/transcriptions': (stream) =>
    stream
      ? [
          ...pieces.map((delta) => ({ type: 'transcript.text.delta', delta })),
          { type: 'transcript.text.done', text: said },
        ]
      : { text: said },
  '/v1/images/generations': () => ({ created: 1, data: [{ b64_json: pixel, revised_prompt: said }] }),
  '/v1/embeddings': () => ({
    object: 'list',
    model: 'm',
    data: [{ object: 'embedding', index: 0, embedding: [1, 0, 0, 0] }],
    usage: { prompt_tokens: 1, total_tokens: 1 },
  }),
  '/v1/rerank': () => ({ results: [{ index: 0, relevance_score: 0.9, document: { text: said } }] }),
  '/v1/moderations': () => ({
    id: 'm',
    model: 'm',
    results: [{ flagged: false, categories: {}, category_scores: {} }],
  }),
  '/v1/ocr': () => ({
    pages: [{ index: 0, markdown: said, images: [] }],
    model: 'm',
    usage_info: { pages_processed: 1 },
  }),
};

/** An upstream whose every answer has the marked word, in streams cut into pieces. `bodies`: what reached it. */
export async function startQuietUpstream() {
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    if (request.method === 'POST') bodies.push(body);
    const stream = /"stream": ?true|name="stream"\s+true/.test(body);
    const answer = answers[request.url!.split('?')[0]!]?.(stream);
    if (answer === undefined) return void response.writeHead(404).end();
    if (!Array.isArray(answer)) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of answer) {
      const type = typeof event === 'object' && 'type' in event ? `event: ${event.type}\n` : '';
      response.write(`${type}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`);
    }
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, bodies, close: () => server.close() };
}

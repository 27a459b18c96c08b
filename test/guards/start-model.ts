import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An upstream that chats: `says` gives the text of each answer by the body of its request, in pieces of 7 characters. */
export async function startModel(after: (end: () => void) => void) {
  const model = {
    url: '',
    bodies: [] as string[],
    says: (_body: string): string => 'Hello.',
    /** Arguments of a call that each answer makes; null: none. */
    calls: null as string | null,
  };
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    if (request.method !== 'POST') return void response.writeHead(404).end();
    model.bodies.push(body);
    const content = model.says(body);
    const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: model.calls } };
    const calls = model.calls === null ? {} : { tool_calls: [call] };
    const reason = model.calls === null ? 'stop' : 'tool_calls';
    const head = { id: 'c', created: 1, model: 'm' };
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
    if (!/"stream": ?true/.test(body)) {
      const choices = [{ index: 0, message: { role: 'assistant', content, ...calls }, finish_reason: reason }];
      response.setHeader('content-type', 'application/json');
      return void response.end(JSON.stringify({ ...head, object: 'chat.completion', choices, usage }));
    }
    response.setHeader('content-type', 'text/event-stream');
    const send = (delta: object, finish_reason: string | null = null) => {
      const choices = [{ index: 0, delta, finish_reason }];
      response.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices })}\n\n`);
    };
    for (const [piece] of content.matchAll(/.{1,7}/gsu)) send({ content: piece });
    if (model.calls !== null) send(calls);
    send({}, reason);
    response.end('data: [DONE]\n\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  model.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return model;
}

/** A question in each format. */
export const questions: Readonly<
  Record<string, (model: string, text: string, stream: boolean) => [path: string, json: object]>
> = {
  chat: (model, content, stream) => ['/v1/chat/completions', { model, stream, messages: [{ role: 'user', content }] }],
  messages: (model, content, stream) => [
    '/v1/messages',
    { model, stream, max_tokens: 900, messages: [{ role: 'user', content }] },
  ],
  responses: (model, input, stream) => ['/v1/responses', { model, stream, input }],
  gemini: (model, text, stream) => [
    `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    { contents: [{ role: 'user', parts: [{ text }] }] },
  ],
};

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';

test('a response in the background whose events are too many to be kept ends once for who follows it', async (t) => {
  const server = createServer((request, response) => {
    request.resume();
    const chunk = (delta: object, finish_reason: string | null = null) => {
      const choices = [{ index: 0, delta, finish_reason }];
      response.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, choices })}\n\n`);
    };
    response.setHeader('content-type', 'text/event-stream');
    // Its text comes five times: in pieces, and in each event that ends a part of it.
    for (let n = 0; n < 20; n += 1) chunk({ content: 'word '.repeat(50_000) });
    chunk({}, 'stop');
    response.end('data: [DONE]\n\n');
  });
  const gateway = await startGateway(t, {
    providers: { up: { type: 'openai', base_url: `${await listening(t, server)}/v1`, api_key: 'k' } },
    models: { chat: { targets: ['up/gpt'] } },
  });
  const json = { model: 'chat', input: 'Hi', background: true, stream: true };
  const text = await (await gateway.fetch('/v1/responses', { json })).text();
  const types = [...text.matchAll(/^event: (\S+)$/gm)].map(([, type]) => type);
  assert.deepEqual(
    types.filter((type) => type === 'response.completed'),
    ['response.completed'],
  );
  const numbers = [...text.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number));
  assert.deepEqual(
    numbers,
    numbers.map((_, at) => at),
  );
});

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { otherKey, startGateway, testKey } from '../start-gateway.ts';
import { ask, type Format } from './formats.ts';

/** An upstream whose every answer is another one. */
let answers = 0;
const upstream = createServer(async (request, response) => {
  let body = '';
  for await (const piece of request) body += piece;
  if (request.method !== 'POST') return void response.writeHead(404).end();
  answers += 1;
  const text = `answer ${answers}.`;
  const head = { id: `c${answers}`, created: 1, model: 'm' };
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  if (!/"stream": ?true/.test(body)) {
    const message = { role: 'assistant', content: text };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    response.writeHead(200, { 'content-type': 'application/json' });
    return void response.end(JSON.stringify({ ...head, object: 'chat.completion', choices, usage }));
  }
  const chunk = (delta: object, finish_reason: string | null, more: object = {}) =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(`${chunk({ content: text }, null)}${chunk({}, 'stop', { usage })}data: [DONE]\n\n`);
});
await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
after(() => upstream.close());
const { port } = upstream.address() as AddressInfo;
const target = { targets: [{ provider: 'up', model: 'm' }], cache: { ttl: '1h' } };
const gateway = await startGateway({ after } as TestContext, {
  providers: { up: { type: 'openai', base_url: `http://127.0.0.1:${port}/v1`, api_key: 'k' } },
  models: { one: target, two: target },
});

/** A question that all formats can ask, of few values, so that many are equal and many differ in one. */
const questions = fc.record({
  text: fc.constantFrom('hi', 'hi ', 'Hi', 'h\u00ed', 'hi\u200b', '{"a":1}'),
  model: fc.constantFrom('one', 'two'),
  temperature: fc.constantFrom(undefined, 0, 1),
  topP: fc.constantFrom(undefined, 1),
  most: fc.constantFrom(100, 101),
});
type Drawn = typeof questions extends fc.Arbitrary<infer T> ? T : never;

/** Members of the body as the format has them. */
const written: Record<Format, (drawn: Drawn) => Record<string, unknown>> = {
  chat: ({ temperature, topP, most }) => ({ temperature, top_p: topP, max_tokens: most }),
  messages: ({ temperature, topP, most }) => ({ temperature, top_p: topP, max_tokens: most }),
  responses: ({ temperature, topP, most }) => ({ temperature, top_p: topP, max_output_tokens: most }),
  gemini: ({ temperature, topP, most }) => ({ generationConfig: { temperature, topP, maxOutputTokens: most } }),
};

const asked = fc.record({
  drawn: questions,
  format: fc.constantFrom<Format>('chat', 'messages', 'responses', 'gemini'),
  stream: fc.boolean(),
  key: fc.constantFrom(testKey, otherKey),
});

test('of 1,500 requests of two keys in four formats, no two that differ share an answer', async () => {
  const requests = fc.sample(asked, { numRuns: 1_500, seed: 28 });
  /** By answer: who may have it, and what was asked. */
  const owners = new Map<string, string>();
  let hits = 0;
  const next = requests.values();
  const work = async () => {
    for (const { drawn, format, stream, key } of next) {
      const { text, model } = drawn;
      const more = written[format](drawn);
      const answer = await ask(gateway, format, { text, model, stream, key, more });
      assert.equal(answer.status, 200, answer.body);
      if (answer.cache === 'hit') hits += 1;
      const owner = JSON.stringify([key, drawn]);
      assert.equal(owners.get(answer.text) ?? owner, owner, `${answer.text} of ${format}`);
      owners.set(answer.text, owner);
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));
  const distinct = new Set(requests.map(({ key, drawn }) => JSON.stringify([key, drawn]))).size;
  // Each was asked once: all formats share one entry.
  assert.equal(answers, distinct);
  assert.equal(hits, requests.length - distinct);
});

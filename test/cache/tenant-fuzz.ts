import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext } from 'node:test';
import fc from 'fast-check';
import { otherKey, startGateway, testKey } from '../start-gateway.ts';
import { ask, type Format } from './formats.ts';

/**
 * Requests of two keys, drawn so that many are equal and many differ in one thing. Each answer of the upstream is another
 * one, so that an answer tells whose it is. The model `masked` is shared by both keys behind a guard: there an answer
 * repeats the word for a masked address.
 */

interface Seen {
  answers: number;
  /** Bodies of masked questions that the upstream got with an address in them. */
  unmasked: string[];
}

/** Two files of tests may share this process. */
const upstreamThatTells = (seen: Seen) =>
  createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    if (request.method !== 'POST') return void response.writeHead(404).end();
    seen.answers += 1;
    if (body.includes('example.org')) seen.unmasked.push(body);
    const text = `answer ${seen.answers}. ${/<EMAIL_\d+>/.exec(body)?.[0] ?? ''}`;
    const head = { id: `c${seen.answers}`, created: 1, model: 'm' };
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
    const cut = text.length - 5;
    const pieces = chunk({ content: text.slice(0, cut) }, null) + chunk({ content: text.slice(cut) }, null);
    response.end(`${pieces}${chunk({}, 'stop', { usage })}data: [DONE]\n\n`);
  });

const written: Record<Format, (drawn: Drawn) => Record<string, unknown>> = {
  chat: ({ temperature, topP, most }) => ({ temperature, top_p: topP, max_tokens: most }),
  messages: ({ temperature, topP, most }) => ({ temperature, top_p: topP, max_tokens: most }),
  responses: ({ temperature, topP, most }) => ({ temperature, top_p: topP, max_output_tokens: most }),
  gemini: ({ temperature, topP, most }) => ({ generationConfig: { temperature, topP, maxOutputTokens: most } }),
};

/** A question that all formats can ask. `texts`: of how many beginnings. */
const questions = (texts: number) =>
  fc.record({
    text: fc
      .tuple(fc.nat(texts - 1), fc.constantFrom('hi', 'hi ', 'Hi', 'h\u00ed', 'hi\u200b', '{"a":1}'))
      .map(([number, text]) => (number === 0 ? text : `${number} ${text}`)),
    model: fc.constantFrom('one', 'two', 'masked'),
    temperature: fc.constantFrom(undefined, 0, 1),
    topP: fc.constantFrom(undefined, 1),
    most: fc.constantFrom(100, 101),
  });
type Drawn = ReturnType<typeof questions> extends fc.Arbitrary<infer T> ? T : never;

/** Fails where two requests share an answer that differ, or where a caller sees the address of the other one. */
export async function fuzzTenants({ requests: count, texts, seed }: { requests: number; texts: number; seed: number }) {
  const seen: Seen = { answers: 0, unmasked: [] };
  const upstream = upstreamThatTells(seen);
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  after(() => upstream.close());
  const { port } = upstream.address() as AddressInfo;
  const targets = [{ provider: 'up', model: 'm' }];
  const own = { targets, cache: { ttl: '1h' } };
  const gateway = await startGateway({ after } as TestContext, {
    providers: { up: { type: 'openai', base_url: `http://127.0.0.1:${port}/v1`, api_key: 'k' } },
    guards: { mails: { check: 'personal-data', kinds: ['email'], action: 'mask' } },
    models: { one: own, two: own, masked: { targets, cache: { ttl: '1h', scope: 'all' }, guards: ['mails'] } },
  });
  const asked = fc.record({
    drawn: questions(texts),
    format: fc.constantFrom<Format>('chat', 'messages', 'responses', 'gemini'),
    stream: fc.boolean(),
    key: fc.constantFrom(testKey, otherKey),
  });
  const requests = fc.sample(asked, { numRuns: count, seed });
  /** Equal for requests that may share an answer. */
  const ownerOf = ({ key, drawn }: (typeof requests)[number]) =>
    JSON.stringify(drawn.model === 'masked' ? drawn : [key, drawn]);
  const owners = new Map<string, string>();
  let hits = 0;
  const next = requests.values();
  const work = async () => {
    for (const request of next) {
      const { drawn, format, stream, key } = request;
      const { text, model } = drawn;
      const address = `${key === testKey ? 'ada' : 'bob'}@example.org`;
      const isMasked = model === 'masked';
      const question = { text: isMasked ? `${address} ${text}` : text, model, stream, key };
      const answer = await ask(gateway, format, { ...question, more: written[format](drawn) });
      assert.equal(answer.status, 200, answer.body);
      if (answer.cache === 'hit') hits += 1;
      const [, said = '', mail] = /^(answer \d+\.) (.*)$/.exec(answer.text) ?? [];
      assert.equal(mail, isMasked ? address : '', answer.text);
      const owner = ownerOf(request);
      assert.equal(owners.get(said) ?? owner, owner, `${said} of ${format}`);
      owners.set(said, owner);
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));
  const distinct = new Set(requests.map(ownerOf)).size;
  assert.deepEqual(seen.unmasked, []);
  return { distinct, answers: seen.answers, hits };
}

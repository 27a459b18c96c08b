import assert from 'node:assert/strict';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { JsonObject } from '../../src/kernel/json.ts';
import { startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { templateTokens } from '../upstream-formats/speak-cohere.ts';

/* Cohere's Chat v2 behind a gateway, for callers of each format. */

const messages = [{ role: 'user' as const, content: 'Hello there' }];
const chat = '/v1/chat/completions';

async function cohere(t: Parameters<typeof startGateway>[0], base = '') {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { co: { type: 'cohere', base_url: upstream.url + base, api_key: 'k' } },
    models: {
      m: { targets: ['co/mock-ok'] },
      thinker: { targets: ['co/mock-reasoning'] },
    },
  });
  await gateway.modelsKnown;
  upstream.clear();
  const sent = () => upstream.requests().filter(({ method }) => method === 'POST');
  const body = () => sent().at(-1)!.body as JsonObject;
  return { upstream, gateway, sent, body };
}

test('a base URL of the compatible layer leads to Chat v2, and fields of Cohere go through OpenAI clients', async (t) => {
  const { gateway, sent, body } = await cohere(t, '/compatibility/v1');
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey, maxRetries: 0 });
  const documents = [{ id: 'page', data: { title: 'A page', url: 'https://a.example/page', text: 'Hello' } }];
  const own = { documents, citation_options: { mode: 'FAST' }, safety_mode: 'STRICT' };
  const create = { model: 'm', messages, top_p: 0.5, stop: ['never'], ...own };
  const answer = await openai.chat.completions.create(create);
  assert.equal(sent()[0]!.path, '/v2/chat');
  const { documents: given, citation_options, safety_mode, p, stop_sequences } = body();
  assert.deepEqual({ documents: given, citation_options, safety_mode }, own);
  assert.deepEqual([p, stop_sequences], [0.5, ['never']]);
  const { content, annotations } = answer.choices[0]!.message;
  const { url, title, start_index, end_index } = annotations![0]!.url_citation;
  assert.deepEqual([url, title], ['https://a.example/page', 'A page']);
  assert.equal(content!.slice(start_index, end_index), content!.split(/\s/)[0]);

  const streamed: string[] = [];
  for await (const chunk of await openai.chat.completions.create({ ...create, stream: true })) {
    const { annotations: cited } = (chunk.choices[0]?.delta ?? {}) as { annotations?: { url_citation: JsonObject }[] };
    for (const one of cited ?? []) streamed.push(one.url_citation.url as string);
  }
  assert.deepEqual(streamed, ['https://a.example/page']);
});

test("a document that Anthropic's client wants cited is cited by its index, whole and streamed", async (t) => {
  const { gateway, body } = await cohere(t);
  const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: testKey, maxRetries: 0 });
  const source = (data: string) => ({ type: 'text' as const, media_type: 'text/plain' as const, data });
  const create = {
    model: 'm',
    max_tokens: 200,
    messages: [
      {
        role: 'user' as const,
        content: [
          { type: 'document' as const, source: source('Plain words.'), title: 'Not cited' },
          { type: 'document' as const, source: source('Hello it is.'), title: 'Cited', citations: { enabled: true } },
          { type: 'text' as const, text: 'Hello there' },
        ],
      },
    ],
  };
  const { data, response } = await anthropic.messages.create(create).withResponse();
  assert.deepEqual(body().documents, [{ id: 'document-1', data: { title: 'Cited', text: 'Hello it is.' } }]);
  assert.match(JSON.stringify(body().messages), /Not cited\\n\\nPlain words/);
  assert.equal(response.headers.get('x-culvert-dropped'), null);
  const cited = data.content.flatMap((block) => (block.type === 'text' ? (block.citations ?? []) : []));
  assert.ok(cited[0]?.type === 'char_location');
  const { document_index, document_title, cited_text } = cited[0];
  assert.deepEqual([document_index, document_title, cited_text], [1, 'Cited', 'Hello it is.']);
  const whole = await anthropic.messages.stream(create).finalMessage();
  const again = whole.content.flatMap((block) => (block.type === 'text' ? (block.citations ?? []) : []));
  assert.deepEqual(again, cited);

  // Cohere refuses a format beside documents: the words stay, and the caller hears that nothing is cited.
  const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
  const json = { ...create, output_config: { format: { type: 'json_schema' as const, schema } } };
  const formatted = await anthropic.messages.create(json as typeof create).withResponse();
  assert.equal(body().documents, undefined);
  assert.match(formatted.response.headers.get('x-culvert-dropped')!, /messages\.document\.citations/);
});

test('an effort becomes a budget of tokens to think for, for callers of each format', async (t) => {
  const { gateway, body } = await cohere(t);
  const thinking = async (path: string, json: object) => {
    const answer = await gateway.fetch(path, { json: { model: 'thinker', ...json } });
    assert.equal(answer.status, 200, await answer.text());
    return body().thinking;
  };
  for (const stream of [false, true]) {
    const of = (reasoning_effort: string) => thinking(chat, { messages, stream, reasoning_effort });
    assert.deepEqual(await of('none'), { type: 'disabled' });
    assert.deepEqual(await of('low'), { type: 'enabled', token_budget: 2_048 });
    assert.deepEqual(await of('high'), { type: 'enabled' });
  }
  assert.equal(await thinking(chat, { messages }), undefined);
  const inResponses = { input: 'Hello', reasoning: { effort: 'medium' } };
  assert.deepEqual(await thinking('/v1/responses', inResponses), { type: 'enabled', token_budget: 8_192 });
  const budget = { type: 'enabled', budget_tokens: 1_024 };
  const inMessages = { messages, max_tokens: 2_000, thinking: budget };
  assert.deepEqual(await thinking('/v1/messages', inMessages), { type: 'enabled', token_budget: 1_024 });
});

test('a request is charged what Cohere bills, not what its template adds', async (t) => {
  const { gateway } = await cohere(t);
  for (const stream of [false, true]) {
    const answer = await gateway.fetch(chat, { json: { model: 'm', messages, stream } });
    await answer.text();
    const found = await gateway.fetch(`/v1/requests/${answer.headers.get('x-culvert-request-id')}`);
    const { usage } = (await found.json()) as { usage: { input_tokens: number } };
    assert.ok(usage.input_tokens > 0 && usage.input_tokens < templateTokens, JSON.stringify(usage));
  }
});

test('errors of Cohere come as errors, and a generation that failed is no answer', async (t) => {
  const { gateway, upstream } = await cohere(t);
  const refusedAs = async (spec: string, status: number) => {
    upstream.script('/v2/chat', [spec, spec, spec, spec]);
    const answer = await gateway.fetch(chat, { json: { model: 'm', messages } });
    const text = await answer.text();
    assert.equal(answer.status, status, text);
    upstream.clear();
    return JSON.parse(text).error as JsonObject;
  };
  const tooLong = 'too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292.';
  const long = await refusedAs(`status=400;message=${tooLong}`, 400);
  assert.equal(long.code, 'context_length_exceeded');
  await refusedAs('status=422', 400);
  await refusedAs('finish=ERROR', 502);
  upstream.script('/v2/chat', ['finish=TIMEOUT']);
  const broken = await gateway.fetch(chat, { json: { model: 'm', messages, stream: true } });
  const frames = await broken.text();
  assert.match(frames, /the generation took too long/);
  assert.ok(!frames.includes('[DONE]'));
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import OpenAI from 'openai';
import { startGateway } from '../start-gateway.ts';

/* Parts of an answer that the caller's format has no place for are told: in the header, or in the stream. */

const candidate = {
  index: 0,
  content: { role: 'model', parts: [{ text: 'It rains.' }, { executableCode: { language: 'PYTHON', code: '1' } }] },
  finishReason: 'STOP',
  groundingMetadata: {
    groundingChunks: [{ retrievedContext: { title: 'rain.txt', text: 'Rain.' } }],
    groundingSupports: [{ segment: { startIndex: 0, endIndex: 9, text: 'It rains.' }, groundingChunkIndices: [0] }],
  },
};
const answer = JSON.stringify({
  candidates: [candidate],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 },
  modelVersion: 'gemini-own',
  responseId: 'own',
});
const upstream = createServer((request, response) => {
  const streamed = request.url!.includes('streamGenerateContent');
  request.resume().on('end', () => {
    response.writeHead(200, { 'content-type': streamed ? 'text/event-stream' : 'application/json' });
    response.end(streamed ? `data: ${answer}\n\n` : answer);
  });
}).listen(0, '127.0.0.1');
await once(upstream, 'listening');
const base_url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1beta`;
after(() => void upstream.close());
const config = (stream: boolean) => ({
  providers: { google: { type: 'gemini', base_url, api_key: 'google-secret' } },
  models: { m: { targets: [{ provider: 'google', model: 'gemini-own', stream }] } },
});
const question = { model: 'm', messages: [{ role: 'user' as const, content: 'Weather?' }] };

test('a whole answer names in x-culvert-dropped what it lost', async (t) => {
  const gateway = await startGateway(t, config(false));
  const openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  const { data, response } = await openai.chat.completions.create(question).withResponse();
  assert.equal(data.choices[0]?.message.content, 'It rains.');
  assert.equal(response.headers.get('x-culvert-dropped'), 'executableCode, annotations');
});

test('a stream that has begun says it in a comment before its end, and its record has it', async (t) => {
  const gateway = await startGateway(t, config(true));
  const response = await gateway.fetch('/v1/chat/completions', { method: 'POST', json: { ...question, stream: true } });
  const lines = (await response.text()).split('\n').filter((line) => line !== '');
  assert.equal(lines.filter((line) => line.startsWith(':')).join(), ': x-culvert-dropped: executableCode, annotations');
  assert.equal(lines.at(-1), 'data: [DONE]');

  const openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  const { data, response: head } = await openai.chat.completions.create({ ...question, stream: true }).withResponse();
  let said = '';
  for await (const chunk of data) said += chunk.choices[0]?.delta.content ?? '';
  assert.equal(said, 'It rains.', 'readers of events skip the comment');
  const id = head.headers.get('x-culvert-request-id')!;
  const record = (await (await gateway.fetch(`/v1/requests/${id}`)).json()) as {
    route: { losses: { field: string }[] };
  };
  assert.deepEqual(
    record.route.losses.map(({ field }) => field),
    ['executableCode', 'annotations'],
  );
});

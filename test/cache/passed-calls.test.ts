import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { listening } from '../listening.ts';
import { startGateway } from '../start-gateway.ts';
import { ask, type Format } from './formats.ts';

/* A hit has a new id and a new time. What a model says in the arguments of a call is neither, whatever its members' names. */

const args = {
  id: 'gen-abcdefgh',
  created: 1_600_000_000,
  createTime: '2020-01-02T03:04:05Z',
  in: [{ created: '2001' }],
};
const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 };
const answers: Record<string, object> = {
  messages: {
    ...{ id: 'gen-abcdefgh', type: 'message', role: 'assistant', model: 'm', stop_reason: 'tool_use' },
    ...{ stop_sequence: null, usage: { input_tokens: 3, output_tokens: 2 } },
    content: [{ type: 'tool_use', id: 'toolu_01abcdefgh', name: 'book', input: args }],
  },
  gemini: {
    candidates: [
      { index: 0, content: { role: 'model', parts: [{ functionCall: { name: 'book', args } }] }, finishReason: 'STOP' },
    ],
    ...{ usageMetadata, modelVersion: 'm', responseId: 'gen-abcdefgh', createTime: '2026-01-02T03:04:05Z' },
  },
};
const upstream = createServer((request, response) => {
  request.resume().on('end', () => {
    if (request.method !== 'POST') return void response.writeHead(404).end();
    const { url = '' } = request;
    const json = JSON.stringify(answers[url.includes('/messages') ? 'messages' : 'gemini']);
    const isStream = url.includes('streamGenerateContent');
    response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json');
    response.end(isStream ? `data: ${json}\n\n` : json);
  });
});
const origin = await listening({ after: after as never }, upstream);
const cache = { ttl: '1h', tool_calls: true };
const gateway = await startGateway({ after } as TestContext, {
  providers: {
    claude: { type: 'anthropic', base_url: `${origin}/v1`, api_key: 'k' },
    google: { type: 'gemini', base_url: `${origin}/v1beta`, api_key: 'k' },
  },
  models: {
    messages: { targets: [{ provider: 'claude', model: 'm' }], cache },
    gemini: { targets: [{ provider: 'google', model: 'm' }], cache },
  },
});

const cases: [Format, boolean][] = [
  ['messages', false],
  ['gemini', false],
  ['gemini', true],
];
for (const [format, stream] of cases) {
  test(`a kept call has the arguments that the model wrote: ${format}, ${stream ? 'streamed' : 'whole'}`, async () => {
    const question = { model: format, text: `book ${stream}`, stream };
    assert.equal((await ask(gateway, format, question)).cache, 'miss');
    const hit = await ask(gateway, format, question);
    assert.equal(hit.cache, 'hit', hit.body);
    const body = JSON.parse(stream ? (/^data: (.*)$/m.exec(hit.body)?.[1] ?? '') : hit.body);
    const call = format === 'messages' ? body.content[0].input : body.candidates[0].content.parts[0].functionCall.args;
    assert.deepEqual(call, args);
    assert.notEqual(body.id ?? body.responseId, 'gen-abcdefgh');
    assert.notEqual(body.createTime, '2026-01-02T03:04:05Z');
  });
}

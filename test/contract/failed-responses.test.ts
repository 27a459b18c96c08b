import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { listening } from '../listening.ts';
import { specValidator } from '../spec/validate.ts';
import { startGateway } from '../start-gateway.ts';

/* Providers of other formats that break their answer off: OpenAI's typed clients know the codes of its list alone. */

const frame = (event: string, data: object) => `${event && `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [] };
const begun = {
  anthropic: [
    frame('message_start', {
      type: 'message_start',
      message: { ...message, usage: { input_tokens: 1, output_tokens: 1 } },
    }),
    frame('content_block_start', {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'text', text: '' },
    }),
    frame('content_block_delta', {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: 'Hi' },
    }),
  ].join(''),
  gemini: frame('', { candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] } }] }),
};
const anthropic = (type: string) => frame('error', { type: 'error', error: { type, message: 'Try later.' } });
const gemini = (code: number, status: string) => frame('', { error: { code, status, message: 'Try later.' } });

for (const [provider, word, error, expected] of [
  ['anthropic', 'overloaded_error', anthropic('overloaded_error'), 'server_error'],
  ['anthropic', 'rate_limit_error', anthropic('rate_limit_error'), 'rate_limit_exceeded'],
  ['gemini', 'UNAVAILABLE', gemini(503, 'UNAVAILABLE'), 'server_error'],
  ['gemini', 'RESOURCE_EXHAUSTED', gemini(429, 'RESOURCE_EXHAUSTED'), 'rate_limit_exceeded'],
] as const) {
  test(`${word} of ${provider} within a stream is ${expected} in response.failed, and stays in the message`, async (t) => {
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(begun[provider] + error);
    });
    const base_url = `${await listening(t, server)}${provider === 'gemini' ? '/v1beta' : ''}`;
    const gateway = await startGateway(t, {
      providers: { up: { type: provider, base_url, api_key: 'k' } },
      models: { chat: { targets: ['up/m'], attempts: 1 } },
    });
    const answer = await gateway.fetch('/v1/responses', { json: { model: 'chat', input: 'Hi', stream: true } });
    const last = (await answer.text()).trim().split('\n\n').at(-1) ?? '';
    const { type, response } = JSON.parse(last.split('data: ')[1] ?? '') as {
      type: string;
      response: { error: { code: string; message: string } };
    };
    assert.equal(type, 'response.failed');
    assert.deepEqual(specValidator('openai', 'ResponseError')(response.error), []);
    assert.equal(response.error.code, expected);
    for (const words of ['Try later.', word]) assert.ok(response.error.message.includes(words), response.error.message);
  });
}

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

const messages = [{ role: 'user', content: 'Hello' }];
const text = 'Mock answer to: Hello';

interface ChatAnswer {
  choices: { message: { content: string }; finish_reason: string }[];
  usage: { prompt_tokens: number; completion_tokens: number };
}
interface MessagesAnswer {
  content: { type: string; text: string }[];
  stop_reason: string;
  usage: { input_tokens: number; output_tokens: number };
}

async function overOne(t: TestContext, type: 'openai' | 'anthropic') {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const base_url = type === 'openai' ? `${upstream.url}/v1` : upstream.url;
  const gateway = await startGateway(t, {
    providers: { up: { type, base_url, api_key: 'x' } },
    models: {
      plain: { targets: ['up/mock/ok'] },
      streamed: { targets: ['up/mock/ok'], timeouts: { whole_by_stream: true } },
    },
  });
  const ask = async <T>(path: string, model: string): Promise<T> => {
    const response = await gateway.fetch(path, { json: { model, messages, max_tokens: 64 } });
    assert.equal(response.status, 200);
    assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
    return (await response.json()) as T;
  };
  const asked = () =>
    upstream
      .requests()
      .filter(({ method }) => method === 'POST')
      .map(({ body }) => (body as { stream?: boolean }).stream ?? false);
  return { ask, asked };
}

test('whole_by_stream over openai: a stream is asked for, the caller gets a whole answer with its text and usage', async (t) => {
  const { ask, asked } = await overOne(t, 'openai');
  const plain = await ask<ChatAnswer>('/v1/chat/completions', 'plain');
  const streamed = await ask<ChatAnswer>('/v1/chat/completions', 'streamed');
  assert.equal(streamed.choices[0]!.message.content, text);
  assert.equal(streamed.choices[0]!.finish_reason, plain.choices[0]!.finish_reason);
  assert.equal(streamed.usage.completion_tokens, plain.usage.completion_tokens);
  assert.equal(streamed.usage.prompt_tokens, plain.usage.prompt_tokens);
  assert.deepEqual(asked(), [false, true]);
});

test('whole_by_stream over anthropic: the same', async (t) => {
  const { ask, asked } = await overOne(t, 'anthropic');
  const plain = await ask<MessagesAnswer>('/v1/messages', 'plain');
  const streamed = await ask<MessagesAnswer>('/v1/messages', 'streamed');
  assert.deepEqual(streamed.content, [{ type: 'text', text }]);
  assert.equal(streamed.stop_reason, plain.stop_reason);
  assert.equal(streamed.usage.output_tokens, plain.usage.output_tokens);
  assert.equal(streamed.usage.input_tokens, plain.usage.input_tokens);
  assert.deepEqual(asked(), [false, true]);
});

test('whole_by_stream: an answer that breaks off half-way is asked of the next target', async (t) => {
  const [first, second] = [await startUpstream(), await startUpstream()];
  t.after(() => Promise.all([first.close(), second.close()]));
  const gateway = await startGateway(t, {
    providers: {
      one: { type: 'openai', base_url: `${first.url}/v1`, api_key: 'x', timeouts: { whole_by_stream: true } },
      two: { type: 'openai', base_url: `${second.url}/v1`, api_key: 'x' },
    },
    models: { chat: { targets: ['one/mock/ok', { provider: 'two', model: 'mock/ok', priority: 2 }] } },
  });
  first.script('/v1/chat/completions', ['always cut=200']);
  const response = await gateway.fetch('/v1/chat/completions', { json: { model: 'chat', messages } });
  const answer = (await response.json()) as ChatAnswer;
  assert.deepEqual([response.status, response.headers.get('x-culvert-provider')], [200, 'two']);
  assert.equal(answer.choices[0]!.message.content, text);
});

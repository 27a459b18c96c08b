import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/*
 * What an answer calls its model. Claude Code drops the thoughts of an answer whose model is not the one that it asked
 * for, so Messages name that one; other formats do it where the alias says so. The official SDKs read it.
 */

const upstream = await startUpstream();
after(() => upstream.close());
const formats = ['openai-chat', 'openai-responses'];
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    providers: {
      openai: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'a', dialects: formats },
      claude: { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'b' },
      google: { type: 'gemini', base_url: upstream.url, api_key: 'c' },
    },
    models: {
      native: { targets: ['claude/claude-sonnet-4-5'] },
      converted: { targets: ['openai/gpt-5-up'] },
      'native-asked': { targets: ['openai/gpt-5-up'], answer_model: 'asked' },
      'converted-asked': { targets: ['claude/claude-sonnet-4-5'], answer_model: 'asked' },
      'google-asked': { targets: ['google/gemini-3-pro'], answer_model: 'asked' },
      'native-upstream': { targets: ['claude/claude-sonnet-4-5'], answer_model: 'upstream' },
    },
  },
);
const anthropic = new Anthropic({ apiKey: gateway.key, baseURL: gateway.url, maxRetries: 0 });
const openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
const google = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: gateway.url } });

const ask = (model: string) => ({ model, max_tokens: 64, messages: [{ role: 'user' as const, content: 'hello' }] });

for (const [model, shown] of [
  ['native', 'native'],
  ['converted', 'converted'],
  ['native-upstream', 'claude-sonnet-4-5'],
] as const) {
  test(`Messages over '${model}' answer as '${shown}', whole and streamed, and the header has the provider's id`, async () => {
    const { data, response } = await anthropic.messages.create(ask(model)).withResponse();
    assert.equal(data.model, shown);
    assert.equal(response.headers.get('x-culvert-model'), model === 'converted' ? 'gpt-5-up' : 'claude-sonnet-4-5');
    const stream = anthropic.messages.stream(ask(model));
    const started: string[] = [];
    stream.on('streamEvent', (event) => event.type === 'message_start' && started.push(event.message.model));
    const final = await stream.finalMessage();
    assert.deepEqual([final.model, ...started], [shown, shown]);
    assert.deepEqual(final.content, data.content);
    assert.ok(final.usage.output_tokens > 0);
  });
}

for (const [model, shown] of [
  ['native-asked', 'native-asked'],
  ['converted-asked', 'converted-asked'],
  ['converted', 'gpt-5-up'],
] as const) {
  test(`chat completions and Responses of '${model}' answer as '${shown}'`, async () => {
    const { max_tokens: _, ...body } = ask(model);
    assert.equal((await openai.chat.completions.create(body)).model, shown);
    const models = new Set<string>();
    let text = '';
    for await (const chunk of await openai.chat.completions.create({ ...body, stream: true })) {
      models.add(chunk.model);
      text += chunk.choices[0]?.delta.content ?? '';
    }
    assert.deepEqual([...models], [shown]);
    assert.match(text, /hello/);
    assert.equal((await openai.responses.create({ model, input: 'hello' })).model, shown);
    const named = new Set<string>();
    for await (const event of await openai.responses.create({ model, input: 'hello', stream: true })) {
      if ('response' in event) named.add(event.response.model);
    }
    assert.deepEqual([...named], [shown]);
  });
}

test('several choices of a model that gives one a call are named as the alias, too', async () => {
  const { max_tokens: _, ...body } = ask('converted-asked');
  const whole = await openai.chat.completions.create({ ...body, n: 2 });
  assert.deepEqual([whole.model, whole.choices.length], ['converted-asked', 2]);
  const models = new Set<string>();
  for await (const chunk of await openai.chat.completions.create({ ...body, n: 2, stream: true }))
    models.add(chunk.model);
  assert.deepEqual([...models], ['converted-asked']);
});

test('Google answers as the alias where it says so', async () => {
  const whole = await google.models.generateContent({ model: 'google-asked', contents: 'hello' });
  assert.equal(whole.modelVersion, 'google-asked');
  for await (const chunk of await google.models.generateContentStream({ model: 'google-asked', contents: 'hello' })) {
    assert.equal(chunk.modelVersion, 'google-asked');
  }
});

test('numbers that no float holds pass through a renamed answer unchanged', async (t) => {
  const exact = '12345678901234567890';
  const body = `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"model":"x","n":${exact}}}],"model" : "claude-x","stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":2}}`;
  const server = createServer((request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address() as { port: number };
  const own = await startGateway(t, {
    providers: { claude: { type: 'anthropic', base_url: `http://127.0.0.1:${port}/v1`, api_key: 'b' } },
    models: { mine: { targets: ['claude/claude-x'] } },
  });
  const response = await own.fetch('/v1/messages', { json: ask('mine') });
  assert.equal(await response.text(), body.replace('"claude-x"', '"mine"'));
});

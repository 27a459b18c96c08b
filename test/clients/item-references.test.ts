import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import type { JsonObject } from '../../src/kernel/json.ts';
import { otherKey, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/*
 * The AI SDK's default model, `createOpenAI()(model)`, names in step 2 of a tool loop what the model wrote before its call
 * in place of sending it.
 */

const upstream = await startUpstream();
after(() => upstream.close());
const at = { base_url: `${upstream.url}/v1`, api_key: 'k' };
const talks = 'mock/text=Let%20me%20look.';
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    providers: {
      chat: { type: 'openai', ...at },
      claude: { type: 'anthropic', ...at },
      google: { type: 'gemini', ...at, base_url: upstream.url },
      native: { type: 'openai', ...at, dialects: ['openai-responses'] },
    },
    models: Object.fromEntries(
      ['chat', 'claude', 'google', 'native'].map((name) => [name, { targets: [`${name}/${talks}`] }]),
    ),
  },
);

const get_weather = tool({
  description: 'Weather of a place.',
  inputSchema: z.object({ city: z.string() }),
  execute: async () => 'rain',
});

/** Later requests to providers, as text. */
function sent(): string[] {
  const bodies = upstream.requests().filter(({ method }) => method === 'POST');
  upstream.clear();
  return bodies.map(({ body }) => JSON.stringify(body));
}

for (const model of ['chat', 'claude', 'google']) {
  for (const [kind, openai] of [
    ['a model that does not reason', undefined],
    ['one that does', { forceReasoning: true, reasoningEffort: 'low', reasoningSummary: 'auto' }],
  ] as const) {
    test(`ai sdk, as it comes: a tool loop of ${kind} goes on after words before the call (${model})`, async () => {
      const asked: unknown[] = [];
      const noting: typeof fetch = (url, init) => {
        asked.push(init?.body);
        return fetch(url, init);
      };
      const ask = {
        model: createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey, fetch: noting })(model),
        prompt: 'Please call get_weather',
        tools: { get_weather },
        stopWhen: stepCountIs(3),
        maxRetries: 0,
        ...(openai !== undefined && { providerOptions: { openai } }),
      };
      sent();
      const whole = await generateText(ask);
      assert.deepEqual([whole.steps.length, whole.text, whole.finishReason], [2, 'Let me look.', 'stop']);
      assert.match(String(asked[1]), /item_reference/, 'it does name them');
      const [, second] = sent();
      assert.match(second!, /Let me look\./, 'what was named is told');
      assert.doesNotMatch(second!, /item_reference|_cv_/);

      const streamed = streamText(ask);
      for await (const part of streamed.fullStream) if (part.type === 'error') throw part.error;
      assert.deepEqual([(await streamed.steps).length, await streamed.finishReason], [2, 'stop']);
      assert.match(sent()[1]!, /Let me look\./);
    });
  }
}

const respond = (json: JsonObject, key = testKey) =>
  gateway.fetch('/v1/responses', { json, headers: { authorization: `Bearer ${key}` } });

/** The id of a message that a model wrote. */
async function written(body: JsonObject = {}): Promise<string> {
  const answer = await respond({ model: 'claude', input: 'Hello', ...body });
  const { output } = (await answer.json()) as { output: { type: string; id: string }[] };
  sent();
  return output.find(({ type }) => type === 'message')!.id;
}

const naming = (id: string, more: JsonObject[] = []) => ({
  input: [
    { role: 'user', content: 'Hello' },
    { type: 'item_reference', id },
    { role: 'user', content: 'And?' },
    ...more,
  ],
});

test('an item goes to a provider of another format than it came from, Responses itself included', async () => {
  const id = await written();
  for (const model of ['native', 'chat']) {
    const answer = await respond({ model, ...naming(id) });
    assert.equal(answer.status, 200, await answer.text());
    const [body] = sent();
    assert.match(body!, /Let me look\./, model);
    assert.doesNotMatch(body!, /item_reference/);
  }
});

test('so it does in a body above 1 MB, which another thread reads', async () => {
  const id = await written();
  const answer = await respond({ model: 'chat', ...naming(id, [{ role: 'user', content: 'x'.repeat(1_500_000) }]) });
  assert.equal(answer.status, 200, (await answer.text()).slice(0, 500));
  assert.match(sent()[0]!, /Let me look\./);
});

test('an item that is named many times stands once, where it is named first', async () => {
  const id = await written();
  const again = Array.from({ length: 3_000 }, () => ({ type: 'item_reference', id }));
  for (const model of ['chat', 'native']) {
    const answer = await respond({ model, ...naming(id, again) });
    assert.equal(answer.status, 200, await answer.text());
    const [body] = sent();
    assert.equal(body!.split('Let me look.').length - 1, 1, model);
    assert.ok(body!.indexOf('Let me look.') < body!.indexOf('And?'));
    assert.doesNotMatch(body!, /item_reference/);
  }
});

async function refusedAs(answer: Response): Promise<[status: number, param: string, message: string]> {
  const { error } = (await answer.json()) as { error: { param: string; message: string } };
  return [answer.status, error.param, error.message];
}

test('S25 an item that another key was given is 404, as one that nobody was; nothing is sent, nothing is charged', async () => {
  const id = await written();
  const unknown = `${id.slice(0, -3)}x_0`;
  for (const [named, key] of [
    [id, otherKey],
    [unknown, testKey],
  ] as const) {
    const answer = await respond({ model: 'chat', ...naming(named) }, key);
    const cost = answer.headers.get('x-culvert-cost');
    const [status, param, message] = await refusedAs(answer);
    assert.deepEqual([status, param, cost], [404, 'input[1]', null]);
    assert.ok(message.startsWith(`Item with id '${named}' not found.`), message);
  }
  assert.deepEqual(sent(), []);
});

test('with `store: false` nothing is kept', async () => {
  const id = await written({ store: false });
  assert.equal((await respond({ model: 'chat', ...naming(id) })).status, 404);
});

test('an item of a stream that another target answered in the end is that one’s', async (t) => {
  const two = await startGateway(t, {
    providers: { up: { type: 'anthropic', ...at }, down: { type: 'openai', ...at } },
    models: { chat: { targets: ['down/mock/status=500', { provider: 'up', model: talks, priority: 2 }] } },
  });
  const answer = await two.fetch('/v1/responses', { json: { model: 'chat', input: 'Hello', stream: true } });
  const id = /"item_id":"(msg_cv_[^"]+)"/.exec(await answer.text())![1]!;
  const next = await two.fetch('/v1/responses', { json: { model: 'chat', ...naming(id) } });
  assert.equal(next.status, 200, await next.text());
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AzureKeyCredential } from '@azure/core-auth';
import createModelClient, { isUnexpected } from '@azure-rest/ai-inference';
import OpenAI, { AzureOpenAI } from 'openai';
import type { JsonObject } from '../../src/kernel/json.ts';
import { models, openThreeProviders } from './three-providers.ts';

/* Azure's clients, over a provider of each dialect. */

const { gateway, lastBody } = await openThreeProviders({
  embed: { type: 'embedding', targets: ['openai/text-embedding-3-small'] },
  draw: { type: 'image', targets: ['openai/gpt-image-1'] },
  speak: { type: 'speech', targets: ['openai/tts-up'] },
});
const azure = new AzureOpenAI({
  apiKey: gateway.key,
  endpoint: gateway.url,
  apiVersion: '2025-04-01-preview',
  maxRetries: 0,
});
const foundry = createModelClient(`${gateway.url}/models`, new AzureKeyCredential(gateway.key), {
  allowInsecureConnection: true,
  retryOptions: { maxRetries: 0 },
});
const messages = [{ role: 'user' as const, content: 'hello there' }];
const weather = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

for (const model of Object.keys(models)) {
  test(`${model}: AzureOpenAI chats, whole and streamed, with tools`, async () => {
    const whole = await azure.chat.completions.create({ model, messages, max_completion_tokens: 100 });
    assert.match(whole.choices[0]!.message.content!, /hello there/);
    const stream = await azure.chat.completions.create({ model, messages, max_completion_tokens: 100, stream: true });
    let text = '';
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
    assert.equal(text, whole.choices[0]!.message.content);
    const question = [{ role: 'user' as const, content: 'call get_weather' }];
    const asked = await azure.chat.completions.create({ model, messages: question, tools: [weather] });
    const [call] = asked.choices[0]!.message.tool_calls!;
    assert.equal(call!.type === 'function' && call!.function.name, 'get_weather');
  });

  test(`${model}: AzureOpenAI asks for responses, whole and streamed`, async () => {
    const whole = await azure.responses.create({ model, input: 'hello there' });
    assert.match(whole.output_text, /hello there/);
    let text = '';
    for await (const event of await azure.responses.create({ model, input: 'hello there', stream: true })) {
      if (event.type === 'response.output_text.delta') text += event.delta;
    }
    assert.equal(text, whole.output_text);
  });

  test(`${model}: Azure AI's inference client chats, whole and streamed`, async () => {
    const body = { model, messages, max_tokens: 100 };
    const whole = await foundry.path('/chat/completions').post({ body });
    if (isUnexpected(whole)) throw whole.body.error;
    assert.match(whole.body.choices[0]!.message.content!, /hello there/);
    assert.ok(whole.body.usage.total_tokens > 0);
    const streamed = await foundry
      .path('/chat/completions')
      .post({ body: { ...body, stream: true } })
      .asNodeStream();
    let events = '';
    for await (const chunk of streamed.body!) events += String(chunk);
    assert.equal(streamed.status, '200');
    const texts = [...events.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => {
      const { choices } = JSON.parse(data!) as { choices: { delta: { content?: string } }[] };
      return choices[0]?.delta.content ?? '';
    });
    assert.equal(texts.join(''), whole.body.choices[0]!.message.content);
    const tools = [weather];
    const asked = await foundry
      .path('/chat/completions')
      .post({ body: { model, messages: [{ role: 'user', content: 'call get_weather' }], tools } });
    if (isUnexpected(asked)) throw asked.body.error;
    assert.equal(asked.body.choices[0]!.finish_reason, 'tool_calls');
  });

  test(`${model}: Azure AI's client is told what the model is`, async () => {
    const info = await foundry.path('/info').get({ queryParameters: { model } } as object);
    if (isUnexpected(info)) throw info.body.error;
    assert.deepEqual([info.body.model_name, info.body.model_type], [model, 'chat-completion']);
  });
}

test('AzureOpenAI embeds, draws and speaks by deployments', async () => {
  const { data } = await azure.embeddings.create({ model: 'embed', input: ['one', 'two'] });
  assert.equal(data.length, 2);
  const drawn = await azure.images.generate({ model: 'draw', prompt: 'a culvert', size: '1024x1024' });
  assert.ok(drawn.data![0]!.b64_json ?? drawn.data![0]!.url);
  const spoken = await azure.audio.speech.create({ model: 'speak', voice: 'alloy', input: 'Hello.' });
  assert.ok((await spoken.arrayBuffer()).byteLength > 0);
});

test("Azure AI's client embeds", async () => {
  const answer = await foundry.path('/embeddings').post({ body: { model: 'embed', input: ['one', 'two'] } });
  if (isUnexpected(answer)) throw answer.body.error;
  assert.equal(answer.body.data.length, 2);
  const info = await foundry.path('/info').get({ queryParameters: { model: 'embed' } } as object);
  assert.equal((info.body as { model_type: string }).model_type, 'embeddings');
});

test("errors reach both clients as Azure's do", async () => {
  await assert.rejects(azure.chat.completions.create({ model: 'nobody', messages }), OpenAI.NotFoundError);
  const unknown = await foundry.path('/chat/completions').post({ body: { model: 'nobody', messages } });
  assert.equal(unknown.status, '404');
  assert.ok(isUnexpected(unknown));
  assert.match(unknown.body.error.message, /nobody/);
  const hot = await foundry.path('/chat/completions').post({ body: { model: 'claude', messages, temperature: 9 } });
  assert.equal(hot.status, '400');
  const strange = createModelClient(`${gateway.url}/models`, new AzureKeyCredential('sk-cv-wrong'), {
    allowInsecureConnection: true,
  });
  assert.equal((await strange.path('/chat/completions').post({ body: { model: 'chat', messages } })).status, '401');
  const nobody = await foundry.path('/info').get({ queryParameters: { model: 'nobody' } } as object);
  assert.equal(nobody.status, '404');
});

test('parameters beyond the format pass to a provider of it', async () => {
  await foundry.path('/chat/completions').post({ body: { model: 'chat', messages, seed: 7, top_p: 0.5 } as never });
  const { seed, top_p: topP } = lastBody() as JsonObject;
  assert.deepEqual([seed, topP], [7, 0.5]);
});

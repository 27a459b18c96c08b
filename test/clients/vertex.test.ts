import assert from 'node:assert/strict';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { AnthropicVertex } from '@anthropic-ai/vertex-sdk';
import { ApiError, GoogleGenAI, type GoogleGenAIOptions } from '@google/genai';
import { OAuth2Client } from 'google-auth-library';
import { models, openThreeProviders } from './three-providers.ts';

/* The SDKs of Google and Anthropic for Vertex AI, over a provider of each dialect. */

const dated = 'claude-sonnet-4-5@20250929';
const { upstream, gateway, lastBody } = await openThreeProviders({
  embed: { type: 'embedding', targets: ['openai/text-embedding-3-small'] },
  'gemini-embed': { type: 'embedding', targets: ['openai/text-embedding-3-small'] },
  [dated]: { targets: ['claude/claude-sonnet-4-5-20250929'] },
});
const schema = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] };
const hello = [{ role: 'user' as const, content: 'hello there' }];
const place = { project: 'my-project', location: 'us-east5' };

function tokenOf(key: string): OAuth2Client {
  const client = new OAuth2Client();
  client.setCredentials({ access_token: key, expiry_date: Date.now() + 3_600_000 });
  return client;
}

function googleWith(options: GoogleGenAIOptions): GoogleGenAI {
  return new GoogleGenAI({ vertexai: true, ...options, httpOptions: { baseUrl: gateway.url, ...options.httpOptions } });
}

function claudeWith(key: string): AnthropicVertex {
  return new AnthropicVertex({
    baseURL: `${gateway.url}/v1`,
    region: 'us-east5',
    projectId: 'my-project',
    authClient: tokenOf(key) as never,
    maxRetries: 0,
  });
}

const express = googleWith({ apiKey: gateway.key });
const ofProject = googleWith({ ...place, googleAuthOptions: { authClient: tokenOf(gateway.key) as never } });
const claude = claudeWith(gateway.key);

for (const [form, google] of Object.entries({ express, 'a project': ofProject })) {
  for (const model of Object.keys(models)) {
    test(`${model}, by Google's SDK in the form of ${form}: whole, streamed, with a tool, and counted`, async () => {
      const whole = await google.models.generateContent({ model, contents: 'hello there' });
      assert.match(whole.text ?? '', /hello there/);
      assert.ok((whole.usageMetadata?.promptTokenCount ?? 0) > 0);
      let text = '';
      for await (const chunk of await google.models.generateContentStream({ model, contents: 'hello there' }))
        text += chunk.text ?? '';
      assert.equal(text, whole.text);
      const functionDeclarations = [{ name: 'get_weather', parametersJsonSchema: schema }];
      const config = { tools: [{ functionDeclarations }] };
      const called = await google.models.generateContent({ model, contents: 'call get_weather', config });
      assert.deepEqual(
        called.functionCalls?.map(({ name }) => name),
        ['get_weather'],
      );
      const { totalTokens } = await google.models.countTokens({ model, contents: 'hello there' });
      assert.ok((totalTokens ?? 0) > 0);
    });
  }
}

test("Google's SDK reads vectors, which it asks by two methods, and an instance without text is refused", async () => {
  const config = { taskType: 'RETRIEVAL_QUERY', outputDimensionality: 8 };
  const { embeddings = [] } = await express.models.embedContent({ model: 'embed', contents: ['a', 'b'], config });
  assert.deepEqual(
    embeddings.map(({ values, statistics }) => [values?.length, (statistics?.tokenCount ?? 0) > 0]),
    [
      [8, true],
      [8, true],
    ],
  );
  assert.deepEqual([lastBody().input, lastBody().dimensions], [['a', 'b'], 8]);
  const one = await ofProject.models.embedContent({ model: 'gemini-embed', contents: 'a', config });
  assert.deepEqual(one.embeddings?.[0]?.values, embeddings[0]?.values);
  const path = '/v1/publishers/google/models/embed:predict';
  for (const [instances, said] of [
    [[{ content: 'a' }, { content: 1 }], /'instances\[1\]\.content': got 1; send a text/],
    [[], /'instances'.* an array of 1/],
  ] as const) {
    const answer = await gateway.fetch(path, { json: { instances } });
    assert.equal(answer.status, 400);
    assert.match(((await answer.json()) as { error: { message: string } }).error.message, said);
  }
});

test("Google's SDK reads a wrong key and an unknown model as Google's errors", async () => {
  const request = { model: 'chat', contents: 'hello there' };
  const refusedWith = (status: number) => (error: unknown) => error instanceof ApiError && error.status === status;
  await assert.rejects(googleWith({ apiKey: 'sk-cv-nobody' }).models.generateContent(request), refusedWith(401));
  await assert.rejects(express.models.generateContent({ ...request, model: 'nobody' }), refusedWith(404));
  const json = { contents: [{ role: 'user', parts: [{ text: 'hello there' }] }] };
  const path = '/v1beta1/publishers/google/models/chat';
  const inQuery = await fetch(`${gateway.url}${path}:generateContent?key=${gateway.key}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(json),
  });
  assert.equal(inQuery.status, 200);
  const unknown = await gateway.fetch(`${path}:generate`, { json });
  assert.match(await unknown.text(), /"status":"NOT_FOUND"/);
});

for (const model of [...Object.keys(models), dated]) {
  test(`${model}, by Anthropic's SDK for Vertex AI: whole, streamed, with a tool, and counted`, async () => {
    const request = { model, max_tokens: 2_000, messages: hello };
    const whole = await claude.messages.create(request);
    const textOf = ({ content }: Anthropic.Message) =>
      content.map((one) => (one.type === 'text' ? one.text : '')).join('');
    assert.match(textOf(whole), /hello there/);
    assert.ok(whole.usage.input_tokens > 0);
    assert.equal(textOf(await claude.messages.stream(request).finalMessage()), textOf(whole));
    const called = await claude.messages.create({
      ...request,
      messages: [{ role: 'user', content: 'call get_weather' }],
      tools: [{ name: 'get_weather', input_schema: schema }],
    });
    assert.equal(called.stop_reason, 'tool_use');
    const counted = await claude.messages.countTokens({ model, messages: hello });
    assert.ok(counted.input_tokens > 0);
  });
}

test('Anthropic gets the body without what Vertex AI alone wants in it, and betas as its header', async () => {
  const path = '/v1/projects/p/locations/global/publishers/anthropic/models';
  const body = { anthropic_version: 'vertex-2023-10-16', max_tokens: 99, messages: hello };
  const json = { ...body, anthropic_beta: ['context-1m-2025-08-07'], model: 'other', stream: true };
  const headers = { 'anthropic-beta': 'files-api-2025-04-14' };
  const answer = await gateway.fetch(`${path}/${dated}:rawPredict`, { json, headers });
  assert.equal(((await answer.json()) as { type: string }).type, 'message');
  assert.deepEqual(lastBody(), { model: 'claude-sonnet-4-5-20250929', stream: false, max_tokens: 99, messages: hello });
  const sent = upstream.requests().at(-1)!.headers['anthropic-beta'];
  assert.equal(sent, 'files-api-2025-04-14,context-1m-2025-08-07');
  const streamed = await gateway.fetch(`${path}/${dated}:streamRawPredict`, { json: body });
  assert.match(await streamed.text(), /^event: message_start/);
  await gateway.fetch(`${path}/count-tokens:rawPredict`, { json: { ...body, max_tokens: undefined, model: dated } });
  assert.deepEqual(lastBody(), { model: 'claude-sonnet-4-5-20250929', messages: hello });
});

test('base URLs with a version more or less, and those of LiteLLM, lead to the same', async () => {
  const claudes = 'projects/p/locations/global/publishers/anthropic/models/claude:rawPredict';
  const googles = 'publishers/google/models/claude:generateContent';
  const contents = [{ role: 'user', parts: [{ text: 'hello there' }] }];
  const body = { anthropic_version: 'vertex-2023-10-16', max_tokens: 99, messages: hello };
  for (const [path, json] of [
    [`/${claudes}`, body],
    [`/vertex_ai/${claudes}`, body],
    [`/vertex_ai/v1/${claudes}`, body],
    [`/vertex_ai/v1beta1/${googles}`, { contents }],
    [`/v1/v1beta1/${googles}`, { contents }],
  ] as const) {
    const answer = await gateway.fetch(path, { json });
    assert.equal(answer.status, 200, path);
    assert.match(await answer.text(), /hello there/);
  }
});

test("Anthropic's SDK reads a wrong key, an unknown model and a wrong body as Anthropic's errors", async () => {
  const request = { model: 'chat', max_tokens: 99, messages: hello };
  await assert.rejects(claudeWith('sk-cv-nobody').messages.create(request), Anthropic.AuthenticationError);
  await assert.rejects(claude.messages.create({ ...request, model: 'nobody' }), Anthropic.NotFoundError);
  const path = '/v1/projects/p/locations/global/publishers/anthropic/models/chat';
  for (const [method, json, status, said] of [
    ['predict', request, 404, /streamRawPredict/],
    ['rawPredict', request, 400, /anthropic_version/],
    ['rawPredict', [], 400, /object/],
  ] as const) {
    const answer = await gateway.fetch(`${path}:${method}`, { json });
    assert.equal(answer.status, status);
    const { type, error } = (await answer.json()) as { type: string; error: { message: string } };
    assert.equal(type, 'error');
    assert.match(error.message, said);
  }
});

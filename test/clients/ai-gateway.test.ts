import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { createGateway, embed, embedMany, generateText, jsonSchema, Output, streamText, tool } from 'ai';
import { z } from 'zod';
import type { JsonObject } from '../../src/kernel/json.ts';
import { source, startDrawing } from './start-drawing.ts';
import { models, openThreeProviders } from './three-providers.ts';

/* The AI SDK's own gateway client, over a provider of each dialect. */

const drawing = await startDrawing({ after: after as TestContext['after'] });
const { gateway, lastBody } = await openThreeProviders(
  {
    embed: { type: 'embedding', targets: ['openai/text-embedding-3-small'] },
    tried: { targets: ['openai/mock/ok'], variants: { a: { weight: 1, parameters: { reasoning_effort: 'low' } } } },
    drawn: { targets: ['draws/m'] },
  },
  () => ({ draws: { type: 'openai', base_url: drawing, api_key: 'd', dialects: ['openai-chat'] } }),
);
const vercel = createGateway({ baseURL: `${gateway.url}/v4/ai`, apiKey: gateway.key });
const prompt = 'hello there';
const shared = { prompt, maxOutputTokens: 100, maxRetries: 0 };
const weather = tool({
  description: 'The weather of a city',
  inputSchema: z.object({ city: z.string() }),
  outputSchema: z.unknown(),
});
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

for (const name of Object.keys(models)) {
  const model = vercel(name);

  test(`${name}: a whole answer with its counts`, async () => {
    const { text, finishReason, usage, response } = await generateText({ model, ...shared, system: 'Be brief.' });
    assert.match(text, /hello there/);
    assert.equal(finishReason, 'stop');
    assert.ok(usage.inputTokens! > 0 && usage.outputTokens! > 0);
    assert.match(response.headers!['x-culvert-request-id']!, /^req_/);
  });

  test(`${name}: a stream says the same as the whole answer`, async () => {
    const whole = await generateText({ model, ...shared });
    const stream = streamText({ model, ...shared });
    let text = '';
    for await (const piece of stream.textStream) text += piece;
    assert.equal(text, whole.text);
    assert.equal(await stream.finishReason, 'stop');
    assert.equal((await stream.usage).outputTokens, whole.usage.outputTokens);
    assert.equal((await stream.response).modelId !== '', true);
  });

  test(`${name}: a tool is called, and its result goes back`, async () => {
    const asked = { model, tools: { get_weather: weather }, maxOutputTokens: 100, maxRetries: 0 };
    const question = { role: 'user' as const, content: 'call get_weather' };
    const whole = await generateText({ ...asked, messages: [question] });
    assert.equal(whole.finishReason, 'tool-calls');
    const [call] = whole.toolCalls;
    assert.deepEqual([call!.toolName, call!.input], ['get_weather', { city: 'mock' }]);
    const stream = streamText({ ...asked, messages: [question] });
    let input = '';
    for await (const part of stream.fullStream) if (part.type === 'tool-input-delta') input += part.delta;
    assert.deepEqual(JSON.parse(input), { city: 'mock' }, 'as it comes');
    const calls = await stream.toolCalls;
    assert.deepEqual(calls[0]!.input, { city: 'mock' });
    const { text } = await generateText({
      ...asked,
      messages: [
        question,
        ...whole.response.messages,
        {
          role: 'tool',
          content: [
            {
              type: 'tool-result',
              toolCallId: call!.toolCallId,
              toolName: 'get_weather',
              output: { type: 'json', value: { degrees: 11 } },
            },
          ],
        },
      ],
    });
    assert.notEqual(text, '');
    assert.match(JSON.stringify(lastBody()), /degrees/);
  });

  test(`${name}: pictures and files come with the question`, async () => {
    await generateText({
      model,
      maxOutputTokens: 100,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', image: Buffer.from(png, 'base64') },
            { type: 'file', data: Buffer.from('Grass is blue here.'), mediaType: 'text/plain', filename: 'page.txt' },
            { type: 'text', text: prompt },
          ],
        },
      ],
    });
    const sent = JSON.stringify(lastBody());
    assert.ok(sent.includes(png.slice(0, 40)), sent.slice(0, 600));
    const words = 'Grass is blue here.';
    assert.ok(sent.includes(words) || sent.includes(Buffer.from(words).toString('base64')), sent.slice(0, 600));
  });
}

test('parameters keep their meaning in another format', async () => {
  const schema = { type: 'object' as const, properties: { a: { type: 'number' as const } } };
  await generateText({
    model: vercel('chat'),
    ...shared,
    maxOutputTokens: 50,
    temperature: 0.5,
    topP: 0.25,
    stopSequences: ['END'],
    seed: 7,
    tools: { get_weather: weather },
    toolChoice: 'required',
    output: Output.object({ schema: jsonSchema(schema) }),
    providerOptions: { openai: { reasoningEffort: 'low' } },
  }).catch(() => null);
  const { response_format: format, ...body } = lastBody() as JsonObject & {
    response_format: { json_schema: JsonObject };
  };
  assert.deepEqual(
    [body.temperature, body.top_p, body.stop, body.seed, body.tool_choice, body.reasoning_effort],
    [0.5, 0.25, ['END'], 7, 'required', 'low'],
  );
  assert.equal(body.max_completion_tokens ?? body.max_tokens, 50);
  assert.deepEqual((format.json_schema.schema as JsonObject).properties, schema.properties);
});

test('a variant sets the effort of a call in this format', async () => {
  await generateText({ model: vercel('tried'), ...shared });
  assert.equal(lastBody().reasoning_effort, 'low');
});

test('options of vendors that have no place are named in x-culvert-dropped', async () => {
  const { response } = await generateText({
    model: vercel('chat'),
    ...shared,
    providerOptions: { openai: { store: true }, gateway: { order: ['azure'] } },
  });
  assert.deepEqual(response.headers!['x-culvert-dropped']!.split(', ').toSorted(), [
    'providerOptions.gateway.order',
    'providerOptions.openai.store',
  ]);
});

test('fields that a provider has no place for are warnings of the answer, whole and streamed', async () => {
  const lost = { ...shared, seed: 7, frequencyPenalty: 1, prompt: 'Say "warnings":[] here.' };
  const whole = await generateText({ model: vercel('claude'), ...lost });
  const expected = ['frequencyPenalty', 'seed'].map((feature) => ({ type: 'unsupported', feature }));
  const byFeature = (found: readonly unknown[] | undefined) =>
    (found as typeof expected).toSorted((one, other) => one.feature.localeCompare(other.feature));
  assert.deepEqual(byFeature(whole.warnings), expected);
  assert.match(whole.text, /"warnings":\[\]/);
  const stream = streamText({ model: vercel('claude'), ...lost });
  assert.equal(await stream.text, whole.text);
  assert.deepEqual(byFeature(await stream.warnings), expected);
  assert.deepEqual((await generateText({ model: vercel('claude'), ...shared })).warnings, []);
  const second = await called('2', { prompt: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }], seed: 7 });
  assert.deepEqual(second.body.warnings, [{ type: 'unsupported-setting', setting: 'seed' }]);
});

test('texts are embedded, one and many', async () => {
  const model = vercel.textEmbeddingModel('embed');
  const one = await embed({ model, value: 'one' });
  const many = await embedMany({ model, values: ['one', 'two'] });
  assert.deepEqual(many.embeddings[0], one.embedding);
  assert.ok(many.usage.tokens > 0);
});

test('models are listed by what they are', async () => {
  const { models: listed } = await vercel.getAvailableModels();
  const types = new Map(listed.map(({ id, modelType }) => [id, modelType]));
  assert.deepEqual([types.get('chat'), types.get('embed')], ['language', 'embedding']);
});

test("errors are the gateway client's own", async () => {
  const failed = async (call: Promise<unknown>) => {
    const error = await call.then(
      () => null,
      (reason: unknown) => reason as Error & { statusCode: number; modelId?: string },
    );
    assert.ok(error !== null);
    return error;
  };
  const unknown = await failed(generateText({ model: vercel('nobody'), ...shared }));
  assert.deepEqual([unknown.name, unknown.statusCode, unknown.modelId], ['GatewayModelNotFoundError', 404, 'nobody']);
  const hot = await failed(generateText({ model: vercel('chat'), ...shared, temperature: 9 }));
  assert.equal(hot.name, 'GatewayInvalidRequestError');
  assert.match(hot.message, /'temperature'/);
  const stranger = createGateway({ baseURL: `${gateway.url}/v4/ai`, apiKey: 'sk-cv-wrong' });
  const refused = await failed(generateText({ model: stranger('chat'), ...shared }));
  assert.match(refused.name, /^GatewayAuthenticationError|AI_/);
});

test('a stream that breaks off ends with an error, and never with a finish', async () => {
  const types: string[] = [];
  const stream = streamText({ model: vercel('mock/eof=3events'), ...shared, onError: () => undefined });
  for await (const part of stream.fullStream) types.push(part.type);
  assert.ok(types.includes('error'), types.join());
});

/** A call as earlier versions of the SDK send it. */
async function called(version: string, body: JsonObject, headers: Record<string, string> = {}) {
  const answer = await gateway.fetch('/v1/ai/language-model', {
    method: 'POST',
    headers: {
      'ai-language-model-id': 'claude',
      'ai-language-model-specification-version': version,
      'ai-language-model-streaming': 'false',
      ...headers,
    },
    json: body,
  });
  return { status: answer.status, body: (await answer.json()) as JsonObject, headers: answer.headers };
}

test('versions 2 and 3 of the call are taken, and answered in their form', async () => {
  const message = {
    role: 'user',
    content: [
      { type: 'text', text: prompt },
      { type: 'file', data: png, mediaType: 'image/png' },
    ],
  };
  const second = await called('2', { prompt: [message], maxOutputTokens: 100 });
  assert.equal(second.status, 200, JSON.stringify(second.body));
  assert.equal(second.body.finishReason, 'stop');
  assert.ok((second.body.usage as { totalTokens: number }).totalTokens > 0);
  assert.ok(JSON.stringify(lastBody()).includes(png.slice(0, 40)));
  const third = await called('3', { prompt: [message], maxOutputTokens: 100 });
  assert.deepEqual(third.body.finishReason, { unified: 'stop', raw: 'stop' });
});

test('pictures and sources of an answer have the form of each version, whole and streamed', async () => {
  const page = { type: 'source', sourceType: 'url', url: source.url, title: source.title };
  const byAddress = {
    type: 'file',
    mediaType: 'image/*',
    data: { type: 'url', url: 'https://pictures.example/a.png' },
  };
  const inBytes = { type: 'file', mediaType: 'image/jpeg' };
  const newest = [page, { ...inBytes, data: { type: 'data', data: 'AAAA' } }, byAddress];
  const ask = { prompt: [{ role: 'user', content: [{ type: 'text', text: prompt }] }] };
  const byId = { 'ai-language-model-id': 'drawn' };
  const madeOf = (parts: readonly JsonObject[]) =>
    parts.filter(({ type }) => type === 'source' || type === 'file').map(({ id: _, ...part }) => part);
  for (const [version, expected, dropped] of [
    ['2', [page, { ...inBytes, data: 'AAAA' }], 'image'],
    ['3', [page, { ...inBytes, data: 'AAAA' }], 'image'],
    ['4', newest, null],
  ] as const) {
    const { body, headers } = await called(version, ask, byId);
    assert.deepEqual(madeOf(body.content as JsonObject[]), expected, version);
    assert.equal(headers.get('x-culvert-dropped'), dropped, version);
  }
  const streamed = await gateway.fetch('/v4/ai/language-model', {
    method: 'POST',
    headers: { ...byId, 'ai-language-model-specification-version': '4', 'ai-language-model-streaming': 'true' },
    json: ask,
  });
  const parts = [...(await streamed.text()).matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json!));
  assert.deepEqual(madeOf(parts), newest);
});

test('a tool’s result of several parts goes on as texts and pictures', async () => {
  const result = [
    { type: 'text', text: 'seen from the hill' },
    { type: 'media', data: png, mediaType: 'image/png' },
    { type: 'image-url', url: 'https://pictures.example/b.png' },
  ];
  const { status, body } = await called('2', {
    maxOutputTokens: 100,
    prompt: [
      { role: 'user', content: [{ type: 'text', text: prompt }] },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: {} }] },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: 'c1', toolName: 'look', output: { type: 'content', value: result } },
        ],
      },
    ],
    tools: [{ type: 'function', name: 'look', inputSchema: { type: 'object' } }],
  });
  assert.equal(status, 200, JSON.stringify(body));
  const [, , { content }] = lastBody().messages as unknown as [
    unknown,
    unknown,
    { content: [{ content: JsonObject[] }] },
  ];
  assert.deepEqual(
    content[0].content.map(
      ({ type, text, source: of }) => text ?? [type, (of as JsonObject).data ?? (of as JsonObject).url],
    ),
    ['seen from the hill', ['image', png], ['image', 'https://pictures.example/b.png']],
  );
});

test('a call that is none is refused with its field', async () => {
  for (const [body, field] of [
    [{}, /'prompt'/],
    [{ prompt: [] }, /'prompt'/],
    [{ prompt: [{ role: 'user', content: 5 }] }, /'prompt\[0\]\.content'/],
    [{ prompt: [{ role: 'user', content: [{ type: 'tool-call' }] }] }, /toolCallId/],
    [
      { prompt: [{ role: 'user', content: prompt }], tools: [{ type: 'provider', id: 'openai.web_search' }] },
      /'tools\[0\]'/,
    ],
  ] as const) {
    const { status, body: answer } = await called('4', body as unknown as JsonObject);
    assert.equal(status, 400, JSON.stringify(answer));
    assert.match((answer.error as { message: string }).message, field);
  }
  const nameless = await called('4', { prompt: [] }, { 'ai-language-model-id': '' });
  assert.match((nameless.body.error as { message: string }).message, /ai-language-model-id/);
});

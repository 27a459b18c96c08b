import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ApiError,
  type Content,
  type FunctionDeclaration,
  type GenerateContentResponse,
  GoogleGenAI,
  ThinkingLevel,
  Type,
} from '@google/genai';
import { models, openThreeProviders } from './three-providers.ts';

/* Google's own SDK at /v1beta, over a provider of each dialect; over Google's own the bytes pass through. */

const { upstream, gateway, lastBody } = await openThreeProviders();
const google = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: gateway.url } });
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const functionDeclarations: FunctionDeclaration[] = [
  { name: 'get_weather', description: 'W.', parametersJsonSchema: schema },
  { name: 'get_time', parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING, nullable: true } } } },
];

for (const model of Object.keys(models)) {
  test(`${model}: a whole answer with instructions, thoughts and usage`, async () => {
    const answer = await google.models.generateContent({
      model,
      contents: 'hello there',
      config: {
        systemInstruction: 'Be brief.',
        maxOutputTokens: 4_000,
        thinkingConfig: { includeThoughts: true, thinkingLevel: ThinkingLevel.LOW },
      },
    });
    assert.match(answer.text ?? '', /hello there/);
    assert.equal(answer.candidates![0]!.finishReason, 'STOP');
    const usage = answer.usageMetadata!;
    const { promptTokenCount = 0, candidatesTokenCount = 0, thoughtsTokenCount = 0 } = usage;
    assert.ok(promptTokenCount > 0 && candidatesTokenCount > 0);
    assert.equal(usage.totalTokenCount, promptTokenCount + candidatesTokenCount + thoughtsTokenCount);
    assert.ok(answer.responseId && answer.modelVersion);
    if (model !== 'chat') assert.ok(answer.candidates![0]!.content!.parts!.some((part) => part.thought));
  });

  test(`${model}: a stream says the same as the whole answer`, async () => {
    const request = { model, contents: 'count to three' };
    const stream = await google.models.generateContentStream(request);
    let text = '';
    let chunks = 0;
    let reason: string | undefined;
    for await (const chunk of stream) {
      chunks += 1;
      text += chunk.text ?? '';
      reason = chunk.candidates?.[0]?.finishReason ?? reason;
    }
    assert.ok(chunks > 1);
    assert.equal(reason, 'STOP');
    assert.equal(text, (await google.models.generateContent(request)).text);
  });

  if (model !== 'google') {
    test(`${model}: each chunk of a stream has usage, since BAML drops the text of those without`, async () => {
      const json = { contents: [{ parts: [{ text: 'count to three' }] }] };
      const response = await gateway.fetch(`/v1beta/models/${model}:streamGenerateContent?alt=sse`, { json });
      const chunks = (await response.text()).split('\r\n\r\n').slice(0, -1);
      const counts = chunks.map((chunk) => (JSON.parse(chunk.slice('data: '.length)) as Chunk).usageMetadata!);
      assert.ok(counts.length > 2 && counts.every((count) => count !== undefined));
      assert.ok(counts.at(-1)!.promptTokenCount! > 0);
      // A count of 0 would be taken for one of the provider's.
      assert.ok(counts.every((count) => count.promptTokenCount !== 0));
    });
  }

  test(`${model}: each result in a turn of its own, and calls whose signature the client dropped`, async () => {
    // LangChain's `@langchain/google-genai` sends the first, LlamaIndex's `@llamaindex/google` the second.
    const contents: Content[] = [
      { role: 'user', parts: [{ text: 'Please call get_weather and call get_time' }] },
      {
        role: 'model',
        parts: [
          { functionCall: { id: 'a', name: 'get_weather', args: { city: 'Rome' } } },
          { functionCall: { id: 'b', name: 'get_time', args: {} } },
        ],
      },
      { role: 'user', parts: [{ functionResponse: { id: 'a', name: 'get_weather', response: { output: 'sun' } } }] },
      { role: 'user', parts: [{ functionResponse: { id: 'b', name: 'get_time', response: { output: 'noon' } } }] },
    ];
    const answer = await google.models.generateContent({
      model,
      contents,
      config: { tools: [{ functionDeclarations }] },
    });
    assert.match(answer.text ?? '', /get_time/);
    const followed = [...contents, { role: 'user', parts: [{ text: 'and now?' }] }];
    assert.match((await google.models.generateContent({ model, contents: followed })).text ?? '', /and now/);
    if (model !== 'google') return;
    const [, calls, results, words] = lastBody().contents as { parts: Record<string, unknown>[] }[];
    assert.deepEqual(
      calls!.parts.map(({ thoughtSignature }) => thoughtSignature),
      ['skip_thought_signature_validator', undefined],
    );
    assert.equal(results!.parts.length, 2);
    assert.deepEqual(words!.parts, [{ text: 'and now?' }]);
  });

  test(`${model}: n8n's node for Gemini gives results in the role of a tool`, async () => {
    const contents = [
      { parts: [{ text: 'call get_time' }], role: 'user' },
      { parts: [{ functionCall: { id: 'a', name: 'get_time', args: {} } }], role: 'model' },
      { parts: [{ functionResponse: { id: 'a', name: 'get_time', response: { result: 'noon' } } }], role: 'tool' },
    ];
    const json = { tools: [{ functionDeclarations }], contents, generationConfig: {} };
    const response = await gateway.fetch(`/v1beta/models/${model}:generateContent`, { json });
    assert.equal(response.status, 200, await response.text());
    assert.match(JSON.stringify(lastBody()), /noon/);
  });

  for (const form of ['whole', 'streamed'] as const) {
    test(`AC-06 AC-16 ${model}: parallel calls go round, ${form}`, async () => {
      const config = {
        tools: [{ functionDeclarations }],
        maxOutputTokens: 4_000,
        ...(model === 'claude' && { thinkingConfig: { includeThoughts: true, thinkingBudget: 2_000 } }),
      };
      const ask = async (contents: Content[]): Promise<Content> => {
        if (form === 'whole') {
          return (await google.models.generateContent({ model, contents, config })).candidates![0]!.content!;
        }
        const parts = [];
        for await (const chunk of await google.models.generateContentStream({ model, contents, config })) {
          parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
        }
        return { role: 'model', parts };
      };
      const question: Content = { role: 'user', parts: [{ text: 'call get_weather and call get_time' }] };
      const first = await ask([question]);
      const calls = first.parts!.flatMap((part) => part.functionCall ?? []);
      assert.deepEqual(
        calls.map(({ name }) => name),
        ['get_weather', 'get_time'],
      );
      assert.ok(calls.every(({ id, args }) => id !== undefined && typeof args === 'object'));
      const responses = calls.map(({ id, name }) => ({
        functionResponse: { id: id!, name: name!, response: { output: '21' } },
      }));
      const second = await ask([question, first, { role: 'user', parts: responses }]);
      assert.ok(second.parts!.some((part) => part.text));
      if (model === 'claude') {
        // The signed thought stands before the calls again, as Anthropic demands.
        const [, turn] = lastBody().messages as { content: { type: string; signature?: string }[] }[];
        assert.equal(turn!.content[0]!.type, 'thinking');
        assert.match(turn!.content[0]!.signature!, /^c2ltdWxhdGVk/);
      }
    });
  }
}

test('structured output by Google’s schema reaches another dialect as JSON Schema', async () => {
  const answer = await google.models.generateContent({
    model: 'chat',
    contents: 'Where?',
    config: {
      responseMimeType: 'application/json',
      responseSchema: {
        type: Type.OBJECT,
        properties: {
          city: { type: Type.STRING },
          n: { type: Type.INTEGER, nullable: true },
          sort: { type: Type.STRING, enum: ['sea'], nullable: true },
        },
        required: ['city'],
      },
    },
  });
  assert.equal(typeof JSON.parse(answer.text!).city, 'string');
  assert.deepEqual(lastBody().response_format, {
    type: 'json_schema',
    json_schema: {
      name: 'response',
      schema: {
        type: 'object',
        properties: {
          city: { type: 'string' },
          n: { type: ['integer', 'null'] },
          sort: { type: ['string', 'null'], enum: ['sea', null] },
        },
        required: ['city'],
      },
    },
  });
});

test('a picture goes along, and several candidates come back', async () => {
  const answer = await google.models.generateContent({
    model: 'chat',
    contents: [
      { role: 'user', parts: [{ text: 'What?' }, { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }] },
    ],
    config: { candidateCount: 2 },
  });
  assert.equal(answer.candidates!.length, 2);
  const [message] = lastBody().messages as { content: { image_url?: { url: string } }[] }[];
  assert.equal(message!.content[1]!.image_url!.url, 'data:image/png;base64,iVBORw0KGgo=');
});

test('over Google’s own format the bytes pass, unknown fields and all', async () => {
  const raw = '{ "contents": [{"parts":[{"text":"hi é"}]}] , "labels": {"a": 1.0}, "newThing": [1e2] }';
  const response = await gateway.fetch('/v1beta/models/google:generateContent', {
    method: 'POST',
    body: raw,
    headers: { 'content-type': 'application/json' },
  });
  assert.equal(response.status, 200);
  const sent = upstream.requests().at(-1)!;
  assert.equal(sent.path, '/v1beta/models/gemini-3-pro:generateContent');
  assert.deepEqual(sent.body, JSON.parse(raw));
  assert.equal(Number(sent.headers['content-length']), Buffer.byteLength(raw));
});

test('proofs of another vendor do not reach Google, and pictures inside a result are checked', async () => {
  const sealed = Buffer.from('culvert:anthropic-messages:sig').toString('base64');
  const picture = { mimeType: 'image/png', data: 'iVBORw0KGgo=' };
  const contents = (inlineData: object): Content[] => [
    { role: 'user', parts: [{ text: 'what time is it' }] },
    {
      role: 'model',
      parts: [
        { text: 'Let me look.', thought: true, thoughtSignature: sealed },
        // As the SDK for Go sends an empty text back.
        { thought: true, thoughtSignature: sealed },
        { functionCall: { name: 'get_time', args: {} }, thoughtSignature: sealed },
      ],
    },
    {
      role: 'user',
      parts: [{ functionResponse: { name: 'get_time', response: { output: 'noon' }, parts: [{ inlineData }] } }],
    },
  ];
  await google.models.generateContent({ model: 'google', contents: contents(picture) });
  const [, turn, result] = lastBody().contents as [unknown, Content, Content];
  assert.deepEqual(turn.parts, [
    { text: 'Let me look.', thought: true },
    { text: '', thought: true },
    // Google's word for a call that it did not make.
    { functionCall: { name: 'get_time', args: {} }, thoughtSignature: 'skip_thought_signature_validator' },
  ]);
  assert.deepEqual(result.parts![0]!.functionResponse!.parts, [{ inlineData: picture }]);
  await google.models.generateContent({ model: 'claude', contents: contents(picture) });
  assert.match(JSON.stringify(lastBody()), /iVBORw0KGgo=/);
  const refused = await gateway.fetch('/v1beta/models/claude:generateContent', {
    method: 'POST',
    json: { contents: contents({ data: 'AAAA' }) },
  });
  const { error } = (await refused.json()) as { error: { message: string } };
  assert.equal(refused.status, 400);
  assert.match(error.message, /'contents\[2\]\.parts\[0\]\.functionResponse\.parts\[0\]\.inlineData\.mimeType'/);
});

test('a picture alone that Google takes in no result follows it', async () => {
  const gif = { type: 'base64', media_type: 'image/gif', data: 'R0lGODlhAQABAAAAACw=' };
  const json = {
    model: 'google',
    max_tokens: 100,
    messages: [
      { role: 'user', content: 'draw' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'get_time', input: {} }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [{ type: 'image', source: gif }] }],
      },
    ],
    tools: [{ name: 'get_time', input_schema: { type: 'object' } }],
  };
  const answer = await gateway.fetch('/v1/messages', { json });
  assert.equal(answer.status, 200, await answer.text());
  const [, , result, picture] = lastBody().contents as [unknown, unknown, Content, Content];
  assert.deepEqual(result.parts![0]!.functionResponse!.response, { output: '[see the next message]' });
  assert.deepEqual(picture.parts, [{ inlineData: { mimeType: 'image/gif', data: gif.data } }]);
});

test('what only Google runs is refused for others, naming it', async () => {
  const search = google.models.generateContent({
    model: 'chat',
    contents: 'x',
    config: { tools: [{ googleSearch: {} }] },
  });
  await assert.rejects(search, refusedWith(400, /tools\[0\]\.googleSearch/));
  const config = { responseMimeType: 'text/x.enum', responseSchema: { type: Type.STRING, enum: ['sea', 'lake'] } };
  const one = google.models.generateContent({ model: 'chat', contents: 'x', config });
  await assert.rejects(one, refusedWith(400, /responseMimeType/));
  assert.ok((await google.models.generateContent({ model: 'google', contents: 'x', config })).text);
});

test('settings of Google alone reach no other provider, and are named', async () => {
  const settings = { safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }] };
  const body = { contents: [{ role: 'user', parts: [{ text: 'x' }] }], labels: { team: 'a' }, ...settings };
  for (const model of ['chat', 'claude']) {
    const answer = await gateway.fetch(`/v1beta/models/${model}:generateContent`, { json: body });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('x-culvert-dropped'), 'labels, safetySettings');
    assert.deepEqual([lastBody().safetySettings, lastBody().labels], [undefined, undefined]);
  }
});

const refusedWith = (status: number, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ApiError, String(error));
  assert.equal(error.status, status);
  assert.match(error.message, message);
  return true;
};

test('errors are Google’s, with the message and the status', async () => {
  const stranger = new GoogleGenAI({ apiKey: 'AIza-not-ours', httpOptions: { baseUrl: gateway.url } });
  await assert.rejects(
    stranger.models.generateContent({ model: 'chat', contents: 'x' }),
    refusedWith(401, /UNAUTHENTICATED/),
  );
  await assert.rejects(
    google.models.generateContent({ model: 'nope', contents: 'x' }),
    refusedWith(404, /nope.*NOT_FOUND/s),
  );
  const hot = google.models.generateContent({ model: 'chat', contents: 'x', config: { temperature: 9 } });
  await assert.rejects(hot, refusedWith(400, /generationConfig\.temperature/));
  const failing = google.models.generateContent({ model: 'mock/status=503', contents: 'x' });
  await assert.rejects(failing, refusedWith(502, /UNAVAILABLE/));
});

test('a stream that is cut ends in an error, never with a finishReason', async () => {
  for (const fault of ['eof', 'error=2']) {
    const response = await gateway.fetch(`/v1beta/models/mock/${fault}:streamGenerateContent?alt=sse`, {
      json: { contents: [{ parts: [{ text: 'say a few words' }] }] },
    });
    const text = await response.text();
    assert.match(text, /"error":\{"code":502/, fault);
    assert.doesNotMatch(text, /finishReason/, fault);
  }
});

type Chunk = Partial<GenerateContentResponse> & { error?: { code: number } };

/** The chunks of a stream that is one array. */
async function arrayOf(model: string, query = '') {
  const json = { contents: [{ role: 'user', parts: [{ text: 'count to three' }] }] };
  const response = await gateway.fetch(`/v1beta/models/${model}:streamGenerateContent${query}`, { json });
  const text = await response.text();
  return { text, chunks: JSON.parse(text) as Chunk[], type: response.headers.get('content-type') };
}

const textIn = (chunks: readonly Chunk[]) =>
  chunks
    .flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? [])
    .map(({ text = '', thought }) => (thought === true ? '' : text))
    .join('');

for (const model of Object.keys(models)) {
  test(`${model}: without alt=sse the stream is one array, as Google's older REST clients read it`, async () => {
    const whole = await google.models.generateContent({ model, contents: 'count to three' });
    for (const query of ['', '?alt=json', '?$alt=json;enum-encoding=int', '?%24alt=json%3Benum-encoding%3Dint']) {
      const { text, chunks, type } = await arrayOf(model, query);
      assert.match(type ?? '', /^application\/json/, query);
      // Their readers take nothing before the bracket and nothing behind it.
      assert.match(text, /^\[\{[\s\S]*\}\n\]$/, query);
      assert.ok(chunks.length > 1);
      assert.equal(textIn(chunks), whole.text);
      assert.match(JSON.stringify(chunks.at(-1)), /"finishReason":"STOP"/);
    }
  });
}

test('the array comes piece by piece', async () => {
  upstream.script('/v1/chat/completions', ['chunks=20;interval=100ms']);
  const json = { contents: [{ parts: [{ text: 'x' }] }] };
  const response = await gateway.fetch('/v1beta/models/chat:streamGenerateContent', { json });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const { value = '' } = await reader.read();
  assert.match(value, /^\[\{"/);
  assert.doesNotMatch(value, /finishReason/);
  await reader.cancel();
});

test('an array that is cut ends in an error object, never with a finishReason', async () => {
  for (const fault of ['eof', 'error=2']) {
    const { text, chunks } = await arrayOf(`mock/${fault}`);
    assert.equal(chunks.at(-1)?.error?.code, 502, fault);
    assert.doesNotMatch(text, /finishReason/, fault);
  }
});

test('bad paths and bodies are 400 or 404, never 500', async () => {
  const contents = [{ parts: [{ text: 'x' }] }];
  for (const [path, json, status] of [
    ['chat:countThings', { contents }, 404],
    ['chat', { contents }, 404],
    ['chat:streamGenerateContent?alt=media', { contents }, 400],
    ['chat:generateContent', {}, 400],
    ['chat:generateContent', { contents: [] }, 400],
    ['chat:generateContent', { contents: [{ parts: [{ functionResponse: { name: 'f', response: {} } }] }] }, 400],
    ['chat:generateContent', [1], 400],
  ] as const) {
    const response = await gateway.fetch(`/v1beta/models/${path}`, { json });
    assert.equal(response.status, status, `${path} ${JSON.stringify(json)}: ${await response.text()}`);
  }
  // Below /v1 the header tells whose words an error has.
  const authorization = `Bearer ${gateway.key}`;
  const missing = { authorization, 'x-goog-api-key': gateway.key };
  const response = await gateway.fetch('/v1/fileSearchStores', { headers: missing });
  assert.equal(((await response.json()) as { error: { status: string } }).error.status, 'NOT_FOUND');
  const anthropics = { authorization, 'anthropic-version': '2023-06-01' };
  const other = await gateway.fetch('/v1/organizations', { headers: anthropics });
  assert.equal(((await other.json()) as { type: string }).type, 'error');
});

for (const model of Object.keys(models)) {
  test(`${model}: a response that comes twice, as a resumed session of Gemini CLI sends it, is sent once`, async () => {
    const calls = ['a', 'b'].map((id) => ({
      functionCall: { id, name: 'get_time', args: {} },
      thoughtSignature: 'c2ln',
    }));
    const responses = ['a', 'b'].map((id) => ({
      functionResponse: { id, name: 'get_time', response: { output: `noon of ${id}` } },
    }));
    const contents: Content[] = [
      { role: 'user', parts: [{ text: 'what time' }] },
      { role: 'model', parts: calls },
      { role: 'user', parts: [...responses, ...responses] },
      { role: 'user', parts: responses },
      { role: 'model', parts: calls },
      { role: 'user', parts: responses },
    ];
    await google.models.generateContent({ model, contents, config: { tools: [{ functionDeclarations }] } });
    const sent = JSON.stringify(lastBody());
    for (const id of ['a', 'b']) assert.equal(sent.split(`noon of ${id}`).length - 1, 2, sent);
  });
}

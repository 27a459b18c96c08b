import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import {
  BedrockRuntimeClient,
  type ContentBlock,
  ConverseCommand,
  type ConverseCommandInput,
  ConverseStreamCommand,
  CountTokensCommand,
  InvokeModelCommand,
  InvokeModelWithResponseStreamCommand,
  ThrottlingException,
  ValidationException,
} from '@aws-sdk/client-bedrock-runtime';
import { fromHttp } from '@aws-sdk/credential-providers';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { SignatureV4 } from '@smithy/signature-v4';
import type { JsonObject } from '../../src/kernel/json.ts';
import { adminKey } from '../start-gateway.ts';
import { startBedrock, testBedrockToken } from '../upstream-formats/start-bedrock.ts';
import { Sha256 } from './sha256.ts';
import { source, startDrawing } from './start-drawing.ts';
import { models, openThreeProviders } from './three-providers.ts';

/* AWS's own client, over a provider of each dialect and over Bedrock itself. */

const bedrock = await startBedrock({ after: after as TestContext['after'] });
const drawing = await startDrawing({ after: after as TestContext['after'] });
const nova = 'us.amazon.nova-2-lite-v1:0';
const arn = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3';
const { gateway, lastBody } = await openThreeProviders(
  {
    nova: { targets: [{ provider: 'aws', model: nova }] },
    embed: { type: 'embedding', targets: ['openai/text-embedding-3-small'] },
    ranks: { type: 'rerank', targets: ['openai/rerank-v3.5'] },
    limited: { targets: ['busy/mock/status=429'] },
    drawn: { targets: ['draws/m'] },
    [arn]: { targets: ['claude/claude-sonnet-4-5'] },
    tried: { targets: ['openai/mock/ok'], variants: { a: { weight: 1, parameters: { reasoning_effort: 'low' } } } },
  },
  (url) => ({
    aws: { type: 'bedrock', base_url: bedrock.url, region: 'us-east-1', api_key: testBedrockToken },
    draws: { type: 'openai', base_url: drawing, api_key: 'd', dialects: ['openai-chat'] },
    busy: { type: 'openai', base_url: `${url}/v1`, api_key: 'e' },
  }),
);

function clientWith(token: string): BedrockRuntimeClient {
  return new BedrockRuntimeClient({
    endpoint: gateway.url,
    region: 'us-east-1',
    token: { token },
    authSchemePreference: ['httpBearerAuth'],
    requestHandler: new NodeHttpHandler(),
    maxAttempts: 1,
  });
}
const client = clientWith(gateway.key);
const messages: ConverseCommandInput['messages'] = [{ role: 'user', content: [{ text: 'hello there' }] }];
const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const toolConfig = {
  tools: [{ toolSpec: { name: 'get_weather', description: 'The weather of a city', inputSchema: { json: city } } }],
};
const inferenceConfig = { maxTokens: 100 };

function converse(input: ConverseCommandInput) {
  return client.send(new ConverseCommand(input));
}

const textOf = (content: readonly ContentBlock[] | undefined) => (content ?? []).map(({ text }) => text ?? '').join('');

async function streamed(input: ConverseCommandInput) {
  const types: string[] = [];
  const inputs: string[] = [];
  let text = '';
  let thoughts = '';
  let stopReason: string | undefined;
  let outputTokens: number | undefined;
  const { stream } = await client.send(new ConverseStreamCommand(input));
  for await (const event of stream!) {
    const [type = ''] = Object.keys(event);
    if (types.at(-1) !== type) types.push(type);
    const { delta, contentBlockIndex = 0 } = event.contentBlockDelta ?? {};
    text += delta?.text ?? '';
    thoughts += delta?.reasoningContent?.text ?? '';
    if (delta?.toolUse !== undefined)
      inputs[contentBlockIndex] = (inputs[contentBlockIndex] ?? '') + delta.toolUse.input;
    stopReason ??= event.messageStop?.stopReason;
    outputTokens ??= event.metadata?.usage?.outputTokens;
  }
  return { types, text, thoughts, inputs: inputs.filter(Boolean), stopReason, outputTokens };
}

for (const modelId of [...Object.keys(models), 'nova']) {
  const said = modelId === 'nova' ? /Hello from Bedrock/ : /hello there/;

  test(`${modelId}: a whole answer with its counts`, async () => {
    const { output, stopReason, usage, metrics, $metadata } = await converse({
      modelId,
      system: [{ text: 'Be brief.' }],
      messages,
      inferenceConfig,
    });
    assert.match(textOf(output!.message!.content), said);
    assert.match($metadata.requestId!, /^req_/);
    assert.deepEqual([output!.message!.role, stopReason], ['assistant', 'end_turn']);
    assert.ok(usage!.inputTokens! > 0 && usage!.outputTokens! > 0 && metrics!.latencyMs! >= 0);
    assert.equal(usage!.totalTokens, usage!.inputTokens! + usage!.outputTokens! + (usage!.cacheReadInputTokens ?? 0));
  });

  test(`${modelId}: a stream says the same as the whole answer`, async () => {
    const whole = await converse({ modelId, messages, inferenceConfig });
    const { types, text, stopReason, outputTokens } = await streamed({ modelId, messages, inferenceConfig });
    assert.equal(text, textOf(whole.output!.message!.content));
    assert.deepEqual(types, ['messageStart', 'contentBlockDelta', 'contentBlockStop', 'messageStop', 'metadata']);
    assert.deepEqual([stopReason, outputTokens], ['end_turn', whole.usage!.outputTokens]);
  });
}

for (const modelId of Object.keys(models)) {
  test(`${modelId}: a tool is called, and its result goes back`, async () => {
    const question = { role: 'user' as const, content: [{ text: 'call get_weather' }] };
    const asked = await converse({ modelId, messages: [question], toolConfig, inferenceConfig });
    assert.equal(asked.stopReason, 'tool_use');
    const { message } = asked.output!;
    const call = message!.content!.find(({ toolUse }) => toolUse !== undefined)!.toolUse!;
    assert.deepEqual([call.name, call.input], ['get_weather', { city: 'mock' }]);
    const stream = await streamed({ modelId, messages: [question], toolConfig, inferenceConfig });
    assert.deepEqual(JSON.parse(stream.inputs[0]!), { city: 'mock' });
    assert.equal(stream.stopReason, 'tool_use');
    const toolResult = { toolUseId: call.toolUseId, content: [{ json: { degrees: 11 } }] };
    const answer = await converse({
      modelId,
      messages: [question, message!, { role: 'user', content: [{ toolResult }] }],
      toolConfig,
      inferenceConfig,
    });
    assert.notEqual(textOf(answer.output!.message!.content), '');
    assert.match(JSON.stringify(lastBody()), /degrees/);
  });

  test(`${modelId}: pictures and documents come with the question`, async () => {
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    );
    await converse({
      modelId,
      messages: [
        {
          role: 'user',
          content: [
            { image: { format: 'png', source: { bytes: png } } },
            { document: { format: 'txt', name: 'page', source: { bytes: Buffer.from('Grass is blue here.') } } },
            { text: 'hello there' },
          ],
        },
      ],
      inferenceConfig,
    });
    const sent = JSON.stringify(lastBody());
    assert.ok(sent.includes(png.toString('base64').slice(0, 40)), sent.slice(0, 600));
    const words = 'Grass is blue here.';
    assert.ok(sent.includes(words) || sent.includes(Buffer.from(words).toString('base64')), sent.slice(0, 600));
  });
}

test('parameters keep their meaning in another format', async () => {
  const schema = { type: 'object', properties: { a: { type: 'number' } } };
  await converse({
    modelId: 'chat',
    messages,
    inferenceConfig: { maxTokens: 50, temperature: 0.5, topP: 0.25, stopSequences: ['END'] },
    toolConfig: { ...toolConfig, toolChoice: { any: {} } },
    additionalModelRequestFields: { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
    outputConfig: {
      textFormat: { type: 'json_schema', structure: { jsonSchema: { schema: JSON.stringify(schema), name: 'reply' } } },
    },
  });
  const { response_format: format, ...body } = lastBody() as JsonObject & {
    response_format: { json_schema: JsonObject };
  };
  assert.deepEqual(
    [body.temperature, body.top_p, body.stop, body.tool_choice, body.reasoning_effort],
    [0.5, 0.25, ['END'], 'required', 'low'],
  );
  assert.equal(body.max_completion_tokens ?? body.max_tokens, 50);
  assert.deepEqual([format.json_schema.name, format.json_schema.schema], ['reply', schema]);
  await converse({ modelId: 'chat', messages, outputConfig: { effort: 'high' } });
  assert.equal(lastBody().reasoning_effort, 'high');
});

test('what another format has no place for is named in x-culvert-dropped', async () => {
  const answer = await gateway.fetch('/model/chat/converse', {
    method: 'POST',
    json: {
      messages: [{ role: 'user', content: [{ text: 'hi' }, { cachePoint: { type: 'default' } }] }],
      requestMetadata: { team: 'a' },
      performanceConfig: { latency: 'optimized' },
      additionalModelRequestFields: { mirostat: 1 },
      additionalModelResponseFieldPaths: ['/x'],
    },
  });
  assert.equal(answer.status, 200, await answer.clone().text());
  assert.deepEqual(answer.headers.get('x-culvert-dropped')?.split(', ').toSorted(), [
    'additionalModelRequestFields.mirostat',
    'additionalModelResponseFieldPaths',
    'cachePoint',
    'performanceConfig',
    'requestMetadata',
  ]);
});

test('cache points mark what comes before them for a model of Anthropic', async () => {
  const content: ContentBlock[] = [
    { text: 'a long document' },
    { text: 'its appendix' },
    { cachePoint: { type: 'default', ttl: '1h' } },
    { text: 'hello there' },
  ];
  const system = [{ text: 'Be brief.' }, { cachePoint: { type: 'default' as const } }];
  await converse({ modelId: 'claude', system, messages: [{ role: 'user', content }], inferenceConfig });
  const body = lastBody();
  assert.deepEqual(body.system, [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }]);
  assert.deepEqual((body.messages as JsonObject[])[0]!.content, [
    { type: 'text', text: 'a long document' },
    { type: 'text', text: 'its appendix', cache_control: { type: 'ephemeral', ttl: '1h' } },
    { type: 'text', text: 'hello there' },
  ]);
});

test('sources and pictures of an answer have their blocks, whole and streamed', async () => {
  const citation = { title: source.title, source: source.url, location: { web: { url: source.url } } };
  const { output } = await converse({ modelId: 'drawn', messages });
  const [cited, picture, ...more] = output!.message!.content!;
  assert.deepEqual(cited!.citationsContent, { content: [{ text: 'It rains.' }], citations: [citation] });
  assert.equal(picture!.image!.format, 'jpeg');
  assert.deepEqual(more, []);
  const plain = await gateway.fetch('/model/drawn/converse', { method: 'POST', json: { messages } });
  const { content } = ((await plain.json()) as { output: { message: { content: JsonObject[] } } }).output.message;
  assert.deepEqual(content[1], { image: { format: 'jpeg', source: { bytes: 'AAAA' } } });
  assert.equal(plain.headers.get('x-culvert-dropped'), 'image', 'it came by its address');

  const { stream } = await client.send(new ConverseStreamCommand({ modelId: 'drawn', messages }));
  const deltas: JsonObject[] = [];
  const starts: JsonObject[] = [];
  for await (const { contentBlockDelta, contentBlockStart } of stream!) {
    if (contentBlockDelta?.delta !== undefined) deltas.push(contentBlockDelta.delta as unknown as JsonObject);
    if (contentBlockStart?.start !== undefined) starts.push(contentBlockStart.start as unknown as JsonObject);
  }
  assert.deepEqual(deltas.slice(0, 2), [{ text: 'It rains.' }, { citation }]);
  const bytes = Buffer.from([0, 0, 0]);
  const drawn = (deltas[2]!.image as unknown as { source: { bytes: Uint8Array } }).source;
  assert.deepEqual([starts, Buffer.from(drawn.bytes)], [[{ image: { format: 'jpeg' } }], bytes]);
});

test('search results, guarded texts and sources of an earlier turn reach other formats', async () => {
  const png = Buffer.from('iVBORw0KGgo=', 'base64');
  const content: ContentBlock[] = [
    {
      searchResult: {
        source: 'https://a.example',
        title: 'Lawns',
        content: [{ text: 'Grass is blue.' }, { text: 'Mostly.' }],
        citations: { enabled: false },
      },
    },
    { document: { format: 'txt', name: 'page', source: { content: [{ text: 'one' }, { text: 'two' }] } } },
    { guardContent: { text: { text: 'Is it so?' } } },
    { guardContent: { image: { format: 'png', source: { bytes: png } } } },
  ];
  const earlier: ContentBlock[] = [{ citationsContent: { content: [{ text: 'As A says.' }], citations: [] } }];
  await converse({
    modelId: 'claude',
    messages: [
      { role: 'user', content },
      { role: 'assistant', content: earlier },
      { role: 'user', content: [{ text: 'hello there' }] },
    ],
    inferenceConfig,
  });
  const [first, second] = lastBody().messages as [{ content: JsonObject[] }, { content: JsonObject[] }];
  const document = (title: string, data: string) => ({
    type: 'document',
    source: { type: 'text', media_type: 'text/plain', data },
    title,
  });
  assert.deepEqual(first.content, [
    document('Lawns — https://a.example', 'Grass is blue.\nMostly.'),
    document('page', 'one\ntwo'),
    { type: 'text', text: 'Is it so?' },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png.toString('base64') } },
  ]);
  const s3 = { source: { s3Location: { uri: 's3://sounds/a.mp3' } } };
  const sound: ContentBlock[] = [{ audio: { format: 'mp3', ...s3 } }];
  const heard = converse({ modelId: 'chat', messages: [{ role: 'user', content: sound }] });
  await assert.rejects(heard, /takes sounds of S3/);
  assert.deepEqual([second.content].flat(), [{ type: 'text', text: 'As A says.' }]);
});

test('documents whose words are to be cited reach Claude so, search results too', async () => {
  const citations = { enabled: true };
  const content: ContentBlock[] = [
    { document: { format: 'txt', name: 'page', source: { text: 'Grass is blue.' }, citations } },
    { searchResult: { source: 'https://a.example', title: 'Lawns', content: [{ text: 'Mostly.' }], citations } },
    { text: 'Is it so?' },
  ];
  await converse({ modelId: 'claude', messages: [{ role: 'user', content }], inferenceConfig });
  const [turn] = lastBody().messages as [{ content: JsonObject[] }];
  const cited = turn.content.filter(({ type }) => type === 'document').map((block) => block.citations);
  assert.deepEqual(cited, [citations, citations]);
});

test('proofs of another vendor go back to it alone', async () => {
  const sealed = Buffer.from(`culvert.anthropic-messages.${Buffer.from('secret').toString('base64url')}`);
  const toolUseId = `tooluse_1__cv_gemini_${Buffer.from('proof').toString('base64url')}`;
  const input = {
    messages: [
      { role: 'user' as const, content: [{ text: 'call get_weather' }] },
      {
        role: 'assistant' as const,
        content: [
          { reasoningContent: { redactedContent: sealed } },
          { text: 'Let me look.' },
          { toolUse: { toolUseId, name: 'get_weather', input: { city: 'mock' } } },
        ],
      },
      { role: 'user' as const, content: [{ toolResult: { toolUseId, content: [{ json: { degrees: 11 } }] } }] },
    ],
    toolConfig,
    inferenceConfig,
  };
  await converse({
    modelId: 'claude',
    ...input,
    inferenceConfig: { maxTokens: 4_000 },
    additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 1_024 } },
  });
  const [, turn] = lastBody().messages as [unknown, { content: JsonObject[] }];
  assert.deepEqual(turn.content[0], { type: 'redacted_thinking', data: 'secret' });
  await converse({ modelId: 'nova', ...input });
  const { body } = bedrock.requests.at(-1)!;
  assert.deepEqual((body.messages as JsonObject[]).slice(1), [
    {
      role: 'assistant',
      content: [
        { text: 'Let me look.' },
        { toolUse: { toolUseId: 'tooluse_1', name: 'get_weather', input: { city: 'mock' } } },
      ],
    },
    { role: 'user', content: [{ toolResult: { toolUseId: 'tooluse_1', content: [{ json: { degrees: 11 } }] } }] },
  ]);
});

test('a variant sets the effort of a request in this format', async () => {
  await converse({ modelId: 'tried', messages });
  assert.equal(lastBody().reasoning_effort, 'low');
});

test('a model may be named by an ARN, and by a name with slashes that is not encoded', async () => {
  const { output } = await converse({ modelId: arn, messages, inferenceConfig });
  assert.match(textOf(output!.message!.content), /hello there/);
  for (const path of ['/model/mock/ok/converse', '/model/mock%2Fok/converse']) {
    const answer = await gateway.fetch(path, { method: 'POST', json: { messages } });
    assert.equal(answer.status, 200, path);
  }
});

test('errors are the exceptions that this SDK knows', async () => {
  const failed = async (call: Promise<unknown>) => {
    const error = await call.then(
      () => null,
      (reason: unknown) => reason as Error & { $metadata: { httpStatusCode: number; requestId: string } },
    );
    assert.ok(error !== null);
    return error;
  };
  const unknown = await failed(converse({ modelId: 'nobody', messages }));
  assert.deepEqual([unknown.name, unknown.$metadata.httpStatusCode], ['ResourceNotFoundException', 404]);
  assert.match(unknown.$metadata.requestId, /^req_/);
  assert.match(unknown.message, /nobody/);
  const nowhere = await gateway.fetch('/model/x/nope', { json: {} });
  assert.equal(nowhere.headers.get('x-amzn-errortype'), 'ResourceNotFoundException');
  const hot = await failed(converse({ modelId: 'chat', messages, inferenceConfig: { temperature: 9 } }));
  assert.ok(hot instanceof ValidationException);
  assert.match(hot.message, /'inferenceConfig.temperature'/);
  const stranger = await failed(clientWith('sk-cv-wrong').send(new ConverseCommand({ modelId: 'chat', messages })));
  assert.equal(stranger.$metadata.httpStatusCode, 401);
  const guarded = await failed(
    converse({ modelId: 'chat', messages, guardrailConfig: { guardrailIdentifier: 'g', guardrailVersion: '1' } }),
  );
  assert.match(guarded.message, /'guardrailConfig'/);
  const limited = await failed(converse({ modelId: 'limited', messages }));
  assert.ok(limited instanceof ThrottlingException, limited.name);
});

test('a stream that breaks off ends with an exception', async () => {
  await assert.rejects(streamed({ modelId: 'mock/eof=3events', messages }), { name: 'ModelStreamErrorException' });
});

test('Bedrock gets the body as it came, and its stream passes', async () => {
  const input = { modelId: 'nova', messages, requestMetadata: { team: 'a' }, inferenceConfig };
  await converse(input);
  const { body, operation, model } = bedrock.requests.at(-1)!;
  assert.deepEqual([operation, model], ['converse', nova]);
  assert.deepEqual(body, { messages, requestMetadata: { team: 'a' }, inferenceConfig });
  await streamed(input);
  assert.equal(bedrock.requests.at(-1)!.operation, 'converse-stream');
  const rows = await gateway.fetch('/v1/requests?limit=1');
  const { data } = (await rows.json()) as { data: [{ usage: JsonObject; route: JsonObject }] };
  assert.deepEqual([data[0].usage.source, data[0].route.passThrough], ['upstream', true]);
  assert.deepEqual([data[0].usage.input_tokens, data[0].usage.output_tokens], [11, 7]);
});

const asJson = (bytes: Uint8Array | undefined) => JSON.parse(Buffer.from(bytes!).toString()) as JsonObject;

async function invoke(modelId: string, body: JsonObject) {
  return asJson((await client.send(new InvokeModelCommand({ modelId, body: JSON.stringify(body) }))).body);
}

async function invokedStream(modelId: string, body: JsonObject): Promise<JsonObject[]> {
  const command = new InvokeModelWithResponseStreamCommand({ modelId, body: JSON.stringify(body) });
  const chunks: JsonObject[] = [];
  for await (const { chunk } of (await client.send(command)).body!) chunks.push(asJson(chunk!.bytes));
  return chunks;
}

const claudeBody = {
  anthropic_version: 'bedrock-2023-05-31',
  anthropic_beta: ['interleaved-thinking-2025-05-14'],
  max_tokens: 100,
  messages: [{ role: 'user', content: 'hello there' }],
};

for (const modelId of Object.keys(models)) {
  test(`${modelId}: InvokeModel takes Anthropic's body, whole and streamed`, async () => {
    const { content, stop_reason: reason } = (await invoke(modelId, claudeBody)) as JsonObject & {
      content: { text: string }[];
    };
    assert.match(content[0]!.text, /hello there/);
    assert.equal(reason, 'end_turn');
    const sent = lastBody();
    assert.deepEqual([sent.anthropic_version, sent.anthropic_beta], [undefined, undefined]);
    const events = await invokedStream(modelId, claudeBody);
    const text = events.flatMap(({ delta }) => (delta as { text?: string } | undefined)?.text ?? []).join('');
    assert.equal(text, content[0]!.text);
    assert.deepEqual([events[0]!.type, events.at(-1)!.type], ['message_start', 'message_stop']);
  });

  test(`${modelId}: InvokeModel takes Nova's body and OpenAI's`, async () => {
    const novaBody = {
      schemaVersion: 'messages-v1',
      messages: [{ role: 'user', content: [{ text: 'hello there' }] }],
      inferenceConfig: { maxTokens: 100, topK: 7 },
    };
    const whole = (await invoke(modelId, novaBody)) as { output: { message: { content: { text: string }[] } } };
    assert.match(whole.output.message.content[0]!.text, /hello there/);
    const events = await invokedStream(modelId, novaBody);
    assert.deepEqual([Object.keys(events[0]!), Object.keys(events.at(-1)!)], [['messageStart'], ['metadata']]);
    // All of Nova's members but `messages` are optional.
    const { messages } = novaBody;
    for (const body of [{ messages }, { messages, system: [{ text: 'Be brief.' }] }]) {
      assert.ok('output' in (await invoke(modelId, body)), JSON.stringify(body));
    }
    const chat = {
      model: 'whatever',
      messages: [{ role: 'user', content: 'hello there' }],
      max_completion_tokens: 100,
    };
    const { choices } = (await invoke(modelId, chat)) as { choices: { message: { content: string } }[] };
    assert.match(choices[0]!.message.content, /hello there/);
    const inParts = { messages: [{ role: 'user', content: [{ text: 'hello there', type: 'text' }] }] };
    assert.ok('choices' in (await invoke(modelId, inParts)));
    const chunks = (await invokedStream(modelId, chat)) as { choices: { delta: { content?: string } }[] }[];
    const said = chunks.flatMap(({ choices: [choice] }) => choice?.delta.content ?? []).join('');
    assert.equal(said, choices[0]!.message.content);
  });
}

test("the agent runtime's Rerank ranks texts and JSON, by name and by ARN; others at that path are answered as before", async () => {
  const rank = async (json: object) => {
    const answer = await gateway.fetch('/rerank', { json });
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as JsonObject };
  };
  const request = (modelArn: string, fields: object = {}) => ({
    queries: [{ type: 'TEXT', textQuery: { text: 'grass' } }],
    rerankingConfiguration: {
      type: 'BEDROCK_RERANKING_MODEL',
      bedrockRerankingConfiguration: { modelConfiguration: { modelArn, ...fields }, numberOfResults: 2 },
    },
    sources: [
      { type: 'INLINE', inlineDocumentSource: { type: 'TEXT', textDocument: { text: 'sea' } } },
      { type: 'INLINE', inlineDocumentSource: { type: 'JSON', jsonDocument: { on: 'grass', text: 'no' } } },
      { type: 'INLINE', inlineDocumentSource: { type: 'TEXT', textDocument: { text: 'stone' } } },
    ],
  });
  for (const arn of ['ranks', 'arn:aws:bedrock:us-east-1::foundation-model/ranks']) {
    const { status, headers, body } = await rank(request(arn));
    assert.equal(status, 200, JSON.stringify(body));
    const results = body.results as JsonObject[];
    assert.deepEqual([results.length, results[0]!.index, Object.keys(body)], [2, 1, ['results']]);
    assert.ok((results[0]!.relevanceScore as number) > (results[1]!.relevanceScore as number));
    assert.match(headers.get('x-amzn-requestid')!, /^req_/);
  }
  assert.deepEqual(lastBody().documents, ['sea', '{"on":"grass","text":"no"}', 'stone']);
  await rank(request('ranks', { additionalModelRequestFields: { rank_fields: ['text'], max_tokens_per_doc: 50 } }));
  assert.deepEqual([lastBody().documents, lastBody().rank_fields], [['sea', 'no', 'stone'], undefined]);
  const unknown = await rank(request('arn:aws:bedrock:us-east-1::foundation-model/nobody'));
  assert.equal(unknown.headers.get('x-amzn-errortype'), 'ResourceNotFoundException');
  assert.match(String(unknown.body.message), /'nobody'/);
  for (const [param, wrong] of [
    ['modelArn', { rerankingConfiguration: {} }],
    ['queries', { queries: [] }],
    ['sources', { sources: [{ type: 'INLINE', inlineDocumentSource: { type: 'TEXT' } }] }],
    ['sources', { sources: [] }],
    ['nextToken', { nextToken: 'more' }],
  ] as const) {
    const { status, headers, body } = await rank({ ...request('ranks'), ...wrong });
    assert.deepEqual([status, headers.get('x-amzn-errortype'), body.param], [400, 'ValidationException', param]);
  }
  const plain = await rank({ model: 'ranks', query: 'grass', documents: ['sea', 'grass'], top_n: 1 });
  assert.equal((plain.body.results as JsonObject[])[0]!.relevance_score !== undefined, true);
  const refused = await rank({ model: 'ranks', query: 'grass' });
  assert.deepEqual([refused.status, typeof (refused.body.error as JsonObject).message], [400, 'string']);
});

test('InvokeModel embeds texts and ranks documents in the forms of their vendors', async () => {
  const titan = (await invoke('embed', { inputText: 'one' })) as { embedding: number[]; inputTextTokenCount: number };
  assert.ok(titan.embedding.length > 0 && titan.inputTextTokenCount > 0);
  const cohere = (await invoke('embed', { texts: ['one', 'two'], input_type: 'search_document' })) as JsonObject;
  assert.deepEqual((cohere.embeddings as number[][])[0], titan.embedding);
  assert.equal(cohere.response_type, 'embeddings_floats');
  const params = { embeddingPurpose: 'GENERIC_INDEX', text: { truncationMode: 'END', value: 'one' } };
  const fromNova = await invoke('embed', { taskType: 'SINGLE_EMBEDDING', singleEmbeddingParams: params });
  assert.deepEqual(fromNova.embeddings, [{ embeddingType: 'TEXT', embedding: titan.embedding }]);
  const ranked = await invoke('ranks', { query: 'grass', documents: ['sea', 'grass'], top_n: 1, api_version: 2 });
  assert.equal((ranked.results as JsonObject[]).length, 1);
});

test('InvokeModel refuses a body of another form, and says which it takes', async () => {
  await assert.rejects(invoke('chat', { prompt: 'Hello', max_gen_len: 10 }), (error: Error) => {
    assert.equal(error.name, 'ValidationException');
    assert.match(error.message, /'anthropic_version'.*'inputText'/);
    return true;
  });
});

test('a broken stream of InvokeModel ends with an exception', async () => {
  await assert.rejects(invokedStream('mock/eof=3events', claudeBody), { name: 'ModelStreamErrorException' });
});

/** A client that signs with credentials of the gateway. */
function signing(credentials: { accessKeyId: string; secretAccessKey: string } | ReturnType<typeof fromHttp>) {
  return new BedrockRuntimeClient({
    endpoint: gateway.url,
    region: 'eu-central-1',
    credentials,
    authSchemePreference: ['aws.auth#sigv4'],
    requestHandler: new NodeHttpHandler(),
    maxAttempts: 1,
  });
}

interface Issued {
  AccessKeyId: string;
  SecretAccessKey: string;
  Expiration?: string;
}

async function issued(key = gateway.key, query = '?lifetime=key') {
  const headers = { authorization: `Bearer ${key}` };
  const answer = await gateway.fetch(`/v1/aws-credentials${query}`, { headers });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  return (await answer.json()) as Issued;
}

const hello = { modelId: arn, messages, inferenceConfig };

test("AWS's SDK fetches credentials for the key by itself, and signs whole and streamed calls", async () => {
  const credentials = fromHttp({
    awsContainerCredentialsFullUri: `${gateway.url}/v1/aws-credentials`,
    awsContainerAuthorizationToken: `Bearer ${gateway.key}`,
  });
  const signer = signing(credentials);
  const { output } = await signer.send(new ConverseCommand(hello));
  assert.match(textOf(output!.message!.content), /hello there/);
  const { stream } = await signer.send(new ConverseStreamCommand(hello));
  const types: string[] = [];
  for await (const event of stream!) types.push(...Object.keys(event));
  assert.equal(types.at(-1), 'metadata');
  const invokedBody = await signer.send(
    new InvokeModelCommand({ modelId: 'claude', body: JSON.stringify(claudeBody) }),
  );
  assert.equal(asJson(invokedBody.body).type, 'message');
});

test("AWS's SDK speaks HTTP/2 as it does by default: streams side by side, signed, and errors", async () => {
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey } = await issued();
  const usual = new BedrockRuntimeClient({
    endpoint: gateway.url,
    region: 'us-east-1',
    credentials: { accessKeyId, secretAccessKey },
    authSchemePreference: ['aws.auth#sigv4'],
    maxAttempts: 1,
  });
  const texts = await Promise.all(
    Array.from({ length: 5 }, async () => {
      let text = '';
      const { stream } = await usual.send(new ConverseStreamCommand(hello));
      for await (const { contentBlockDelta } of stream!) text += contentBlockDelta?.delta?.text ?? '';
      return text;
    }),
  );
  for (const text of texts) assert.match(text, /hello there/);
  await assert.rejects(usual.send(new ConverseCommand({ ...hello, modelId: 'nobody' })), {
    name: 'ResourceNotFoundException',
  });
  const broken = await usual.send(new ConverseStreamCommand({ modelId: 'mock/eof=3events', messages }));
  await assert.rejects(
    async () => {
      for await (const _ of broken.stream!);
    },
    { name: 'ModelStreamErrorException' },
  );
  usual.destroy();
});

test('lasting credentials sign until they are wrong', async () => {
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, Expiration: ends } = await issued();
  assert.equal(ends, undefined);
  const minutes = (Date.parse((await issued(gateway.key, '')).Expiration!) - Date.now()) / 60_000;
  assert.ok(minutes > 55 && minutes <= 60.1, `${minutes} min without 'lifetime'`);
  const { output } = await signing({ accessKeyId, secretAccessKey }).send(new ConverseCommand(hello));
  assert.match(textOf(output!.message!.content), /hello there/);
  const other = await issued();
  for (const wrong of [
    { accessKeyId, secretAccessKey: `${secretAccessKey}x` },
    { accessKeyId, secretAccessKey: other.SecretAccessKey },
    { accessKeyId: `${accessKeyId.slice(0, -2)}AA`, secretAccessKey },
    { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey },
  ]) {
    await assert.rejects(signing(wrong).send(new ConverseCommand(hello)), { name: 'UnrecognizedClientException' });
  }
});

async function admin(path: string, json: JsonObject, method = 'POST'): Promise<JsonObject> {
  const headers = { authorization: `Bearer ${adminKey}` };
  return (await (await gateway.fetch(`/admin/v1${path}`, { method, headers, json })).json()) as JsonObject;
}

test('a key that is bound to addresses gets credentials there, which sign from there alone', async () => {
  const { id, key } = await admin('/keys', { account: 'dev', name: 'bound', ips: ['127.0.0.1'] });
  const pair = await issued(key as string);
  const signer = signing({ accessKeyId: pair.AccessKeyId, secretAccessKey: pair.SecretAccessKey });
  await signer.send(new ConverseCommand(hello));
  await admin(`/keys/${id}`, { ips: ['10.0.0.0/8'] }, 'PATCH');
  await assert.rejects(signer.send(new ConverseCommand(hello)), { name: 'AccessDeniedException' });
});

test('credentials end with their key', async () => {
  const { id, key } = await admin('/keys', { account: 'dev', name: 'signer' });
  const pair = await issued(key as string);
  const signer = signing({ accessKeyId: pair.AccessKeyId, secretAccessKey: pair.SecretAccessKey });
  await signer.send(new ConverseCommand(hello));
  await admin(`/keys/${id}/revoke`, {});
  await assert.rejects(signer.send(new ConverseCommand(hello)), { name: 'UnrecognizedClientException' });
});

/** A signed request as botocore makes it, without a digest of the body among its headers; `change` alters it afterwards. */
async function signedByHand(change: { body?: string; path?: string; dateMs?: number; service?: string } = {}) {
  const { host } = new URL(gateway.url);
  const body = JSON.stringify({ messages });
  const signature = await handSigner(change.service);
  const { headers } = await signature.sign(
    {
      method: 'POST',
      protocol: 'http:',
      hostname: '127.0.0.1',
      path: '/model/claude/converse',
      query: {},
      headers: { host, 'content-type': 'application/json' },
      body,
    },
    { signingDate: new Date(change.dateMs ?? Date.now()) },
  );
  const { host: _, ...sent } = headers;
  const path = change.path ?? '/model/claude/converse';
  return fetch(`${gateway.url}${path}`, { method: 'POST', headers: sent, body: change.body ?? body });
}

async function handSigner(service = 'bedrock') {
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey } = await issued();
  const credentials = { accessKeyId, secretAccessKey };
  return new SignatureV4({ credentials, region: 'us-east-1', service, sha256: Sha256, applyChecksum: false });
}

test('a signature covers body, path, service and time', async () => {
  assert.equal((await signedByHand()).status, 200);
  for (const change of [
    { body: JSON.stringify({ messages: [] }) },
    { path: '/model/chat/converse' },
    { service: 's3' },
    { dateMs: Date.now() - 6 * 60_000 },
    { dateMs: Date.now() + 6 * 60_000 },
  ]) {
    const answer = await signedByHand(change);
    assert.equal(answer.status, 401, JSON.stringify(change));
    assert.equal(answer.headers.get('x-amzn-errortype'), 'UnrecognizedClientException');
  }
});

test('a signature covers the query in whatever order it is sent', async () => {
  const signer = await handSigner();
  const { host } = new URL(gateway.url);
  // Without a filter of this name nothing is left out; `by` comes before `by1` in a signature.
  const query = { by1: 'x y', by: '(z)', byOutputModality: 'EMBEDDING' };
  const place = { protocol: 'http:', hostname: '127.0.0.1', path: '/foundation-models' };
  const { headers } = await signer.sign({ method: 'GET', ...place, query, headers: { host } });
  const { host: _, ...sent } = headers;
  const asked = (search: string) => fetch(`${gateway.url}/foundation-models?${search}`, { headers: sent });
  for (const search of [
    'by=%28z%29&by1=x%20y&byOutputModality=EMBEDDING',
    'byOutputModality=EMBEDDING&by1=x%20y&by=%28z%29',
  ]) {
    const answer = await asked(search);
    assert.equal(answer.status, 200, search);
    const { modelSummaries } = (await answer.json()) as { modelSummaries: ModelSummary[] };
    assert.ok(modelSummaries.some(({ modelId }) => modelId === 'embed'));
  }
  for (const search of ['', 'by=%28z%29&by1=x%20y', 'by=%28z%29&by1=x%20y&byOutputModality=TEXT']) {
    assert.equal((await asked(search)).status, 401, search);
  }
});

test('credentials come for a key in any header that opens', async () => {
  for (const name of ['x-api-key', 'api-key', 'x-goog-api-key', 'x-culvert-key', 'x-portkey-api-key']) {
    const answer = await fetch(`${gateway.url}/v1/aws-credentials`, { headers: { [name]: gateway.key } });
    assert.equal(answer.status, 200, name);
  }
});

test('credentials are for keys, and nothing but Bedrock takes them', async () => {
  const wrong = await gateway.fetch('/v1/aws-credentials?lifetime=day');
  assert.equal(wrong.status, 400);
  const stranger = await gateway.fetch('/v1/aws-credentials', { headers: { authorization: 'Bearer sk-cv-wrong' } });
  assert.equal(stranger.status, 401);
  const { AccessKeyId: id } = await issued();
  const scope = `${id}/20261124/us-east-1/bedrock/aws4_request`;
  const authorization = `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host;x-amz-date, Signature=${'0'.repeat(64)}`;
  const headers = { authorization, 'x-amz-date': '20261124T000000Z' };
  assert.equal((await gateway.fetch('/v1/models', { headers })).status, 401);
  for (const bad of ['AWS4-HMAC-SHA256', 'AWS4-HMAC-SHA256 Credential=a', authorization.replace('host;', '')]) {
    const answer = await gateway.fetch('/model/chat/converse', {
      method: 'POST',
      headers: { ...headers, authorization: bad },
      json: { messages },
    });
    assert.equal(answer.status, 401, bad);
  }
});

test('tokens are counted of both kinds of input, by the provider of Messages or here, and longer ones are more', async () => {
  const count = async (modelId: string, input: ConstructorParameters<typeof CountTokensCommand>[0]['input']) =>
    (await client.send(new CountTokensCommand({ modelId, input }))).inputTokens ?? 0;
  const invokeModel = (body: object) => ({ invokeModel: { body: Buffer.from(JSON.stringify(body)) } });
  const long = [{ role: 'user' as const, content: [{ text: 'hello there '.repeat(200) }] }];
  for (const modelId of Object.keys(models)) {
    const short = await count(modelId, { converse: { messages, system: [{ text: 'Be brief.' }], toolConfig } });
    assert.ok(short > 10 && short < 200, `${modelId}: ${short}`);
    assert.ok((await count(modelId, { converse: { messages: long } })) > 300, modelId);
    const plain = { messages: [{ role: 'user', content: 'hello there' }], max_tokens: 9 };
    const ofClaude = await count(modelId, invokeModel({ ...plain, anthropic_version: 'bedrock-2023-05-31' }));
    const ofOpenAi = await count(modelId, invokeModel(plain));
    assert.ok(ofClaude > 0 && ofOpenAi > 0, modelId);
  }
  for (const input of [invokeModel({ inputText: 'a text' }), invokeModel({}), {}]) {
    const refused = client.send(new CountTokensCommand({ modelId: 'nova', input: input as never }));
    await assert.rejects(refused, ValidationException);
  }
  await assert.rejects(count('nobody', { converse: { messages } }), /does not exist|nobody/);
});

/** An answer of the control plane, whose client this repository does not install. */
async function controlled(path: string, init: { method?: string; json?: unknown } = {}) {
  const answer = await gateway.fetch(path, init);
  const body = (await answer.json()) as JsonObject;
  return { status: answer.status, type: answer.headers.get('x-amzn-errortype'), body };
}

interface ModelSummary {
  modelId: string;
  modelArn: string;
  outputModalities: string[];
}
const listed = async (query = '') =>
  ((await controlled(`/foundation-models${query}`)).body as unknown as { modelSummaries: ModelSummary[] })
    .modelSummaries;

test('ListFoundationModels has the models of the key, by what they are', async () => {
  const all = await listed();
  const byId = new Map(all.map((one) => [one.modelId, one]));
  assert.deepEqual(byId.get('embed')!.outputModalities, ['EMBEDDING']);
  assert.equal(byId.get('chat')!.modelArn, 'arn:aws:bedrock:us-east-1::foundation-model/chat');
  const embedding = (await listed('?byOutputModality=EMBEDDING')).map(({ modelId }) => modelId);
  assert.deepEqual([embedding.includes('embed'), embedding.includes('chat')], [true, false]);
  assert.deepEqual(await listed('?byProvider=nobody'), []);
  assert.deepEqual(await listed('?byInferenceType=PROVISIONED'), []);
  const wrong = await controlled('/foundation-models?byOutputModality=SMELL');
  assert.deepEqual([wrong.status, wrong.type], [400, 'ValidationException']);
  assert.match(String(wrong.body.message), /byOutputModality/);
});

test('GetFoundationModel takes a name and an ARN, and an unknown one is an exception', async () => {
  const path = (name: string) => `/foundation-models/${encodeURIComponent(name)}`;
  for (const [name, modelId] of [
    ['chat', 'chat'],
    ['arn:aws:bedrock:eu-west-1::foundation-model/chat', 'chat'],
    [arn, arn],
  ] as const) {
    const { status, body } = await controlled(path(name));
    assert.equal(status, 200, name);
    assert.equal((body.modelDetails as JsonObject).modelId, modelId);
  }
  const unknown = await controlled(path('nobody'));
  assert.deepEqual([unknown.status, unknown.type], [404, 'ResourceNotFoundException']);
});

test('jobs over files in S3 are refused, and the message names what does the same', async () => {
  for (const [method, path] of [
    ['POST', '/model-invocation-job'],
    ['GET', '/model-invocation-jobs'],
    ['GET', '/model-invocation-job/a1'],
    ['POST', '/model-invocation-job/a1/stop'],
  ] as const) {
    const { status, type, body } = await controlled(path, { method, ...(method === 'POST' && { json: {} }) });
    assert.deepEqual([status, type], [400, 'ValidationException'], path);
    assert.match(String(body.message), /\/v1\/batches/);
  }
});

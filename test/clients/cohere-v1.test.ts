import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Cohere, CohereClient, CohereError } from 'cohere-ai';
import type { JsonObject } from '../../src/kernel/json.ts';
import { models, openThreeProviders } from './three-providers.ts';

/* Version 1 of Cohere's API by its own client, over a provider of each dialect and over Cohere's. */

const { gateway, lastBody } = await openThreeProviders(
  {
    command: { targets: ['co/command-a-03-2025'] },
    cut: { targets: ['co/mock/eof=3events'] },
    embed: { type: 'embedding', targets: ['openai/text-embedding-3-small'] },
  },
  (url) => ({ co: { type: 'cohere', base_url: url, api_key: 'd' } }),
);
const cohere = new CohereClient({ environment: gateway.url, token: gateway.key, maxRetries: 0 });
const tools: Cohere.Tool[] = [
  {
    name: 'get_weather',
    description: 'The weather of a city',
    parameterDefinitions: {
      city: { type: 'str', description: 'Its name', required: true },
      days: { type: 'List[int]' },
    },
  },
];

async function streamed(request: Cohere.ChatStreamRequest) {
  const types: string[] = [];
  let text = '';
  let json = '';
  let end: Cohere.StreamedChatResponse.StreamEnd | null = null;
  for await (const event of await cohere.chatStream(request)) {
    if (types.at(-1) !== event.eventType) types.push(event.eventType);
    if (event.eventType === 'text-generation') text += event.text;
    if (event.eventType === 'tool-calls-chunk') json += event.toolCallDelta?.parameters ?? '';
    if (event.eventType === 'stream-end') end = event;
  }
  return { types, text, json, end: end! };
}

for (const model of [...Object.keys(models), 'command']) {
  test(`${model}: a whole answer, with the conversation so far`, async () => {
    const chatHistory: Cohere.Message[] = [
      { role: 'USER', message: 'My name is Ada.' },
      { role: 'CHATBOT', message: 'Good day.' },
    ];
    const answer = await cohere.chat({
      model,
      preamble: 'Be brief.',
      chatHistory,
      message: 'hello there',
      maxTokens: 99,
    });
    assert.match(answer.text, /hello there/);
    assert.equal(answer.finishReason, 'COMPLETE');
    assert.ok(answer.meta!.billedUnits!.inputTokens! > 0 && answer.meta!.tokens!.outputTokens! > 0);
    assert.deepEqual(
      answer.chatHistory!.map((turn) => [turn.role, 'message' in turn && turn.message]),
      [
        ['USER', 'My name is Ada.'],
        ['CHATBOT', 'Good day.'],
        ['USER', 'hello there'],
        ['CHATBOT', answer.text],
      ],
    );
    const sent = JSON.stringify(lastBody());
    const places = ['Be brief.', 'My name is Ada.', 'Good day.', 'hello there'].map((text) => sent.indexOf(text));
    assert.ok(
      places.every((place) => place > 0),
      sent,
    );
  });

  test(`${model}: a stream says the same as the whole answer`, async () => {
    const whole = await cohere.chat({ model, message: 'count to three', maxTokens: 99 });
    const { types, text, end } = await streamed({ model, message: 'count to three', maxTokens: 99 });
    assert.deepEqual(types, ['stream-start', 'text-generation', 'stream-end']);
    assert.equal(text, whole.text);
    assert.equal(end.finishReason, 'COMPLETE');
    assert.deepEqual([end.response.text, end.response.meta], [whole.text, whole.meta]);
  });

  test(`${model}: a tool is called, and its result goes back, with the history and without`, async () => {
    const message = 'call get_weather';
    const called = await cohere.chat({ model, message, tools, maxTokens: 99 });
    assert.equal(called.finishReason, 'COMPLETE');
    const [call] = called.toolCalls!;
    assert.deepEqual(call, { name: 'get_weather', parameters: { city: 'mock' } });
    const stream = await streamed({ model, message, tools, maxTokens: 99 });
    assert.deepEqual(JSON.parse(stream.json), call!.parameters);
    assert.deepEqual(stream.end.response.toolCalls, called.toolCalls);
    assert.deepEqual(stream.types.slice(-3), ['tool-calls-chunk', 'tool-calls-generation', 'stream-end']);
    const toolResults = [{ call: call!, outputs: [{ degrees: 11 }] }];
    for (const turn of [{ message: '', chatHistory: called.chatHistory! }, { message }]) {
      const answer = await cohere.chat({ model, tools, toolResults, maxTokens: 99, ...turn });
      assert.notEqual(answer.text, '');
      assert.match(JSON.stringify(lastBody()), /degrees/);
      assert.deepEqual(
        answer.chatHistory!.map(({ role }) => role),
        'chatHistory' in turn ? ['USER', 'CHATBOT', 'TOOL', 'CHATBOT'] : ['USER', 'TOOL', 'CHATBOT'],
      );
    }
  });
}

test('two calls of one tool get the results that belong to them', async () => {
  const call = (city: string) => ({ name: 'get_weather', parameters: { city } });
  await cohere.chat({
    model: 'chat',
    message: '',
    tools,
    chatHistory: [
      { role: 'USER', message: 'weather?' },
      { role: 'CHATBOT', message: 'I look.', toolCalls: [call('Bonn'), call('Rome')] },
    ],
    toolResults: [
      { call: call('Rome'), outputs: [{ sky: 'clear' }] },
      { call: call('Bonn'), outputs: [{ sky: 'rain' }, { sky: 'fog' }] },
    ],
  });
  const { messages, tools: sent } = lastBody() as { messages: JsonObject[]; tools: { function: JsonObject }[] };
  const [, turn, ...results] = messages as { content: unknown; tool_calls: { id: string }[]; tool_call_id: string }[];
  assert.equal(turn!.content, 'I look.');
  const contents = turn!.tool_calls.map(({ id }) => results.find((result) => result.tool_call_id === id)!.content);
  assert.match(JSON.stringify(contents), /rain.*fog.*clear/);
  assert.deepEqual(sent[0]!.function.parameters, {
    type: 'object',
    properties: {
      city: { type: 'string', description: 'Its name' },
      days: { type: 'array', items: { type: 'integer' } },
    },
    required: ['city'],
  });
});

test('documents that the answer cites come back', async () => {
  const documents = [{ title: 'A page', text: 'Hello there, it says.', secret: 'hidden', _excludes: 'secret' }];
  const request = { model: 'command', message: 'hello there', documents: documents as never, maxTokens: 99 };
  const answer = await cohere.chat(request);
  const [citation] = answer.citations!;
  assert.deepEqual(citation!.documentIds, ['doc_0']);
  assert.equal(answer.text.slice(citation!.start, citation!.end), citation!.text);
  assert.equal(answer.documents![0]!.title, 'A page');
  const { types, end } = await streamed(request);
  assert.ok(types.includes('citation-generation'));
  assert.deepEqual(end.response.citations, answer.citations);
  await cohere.chat({ ...request, citationQuality: 'OFF' });
  assert.deepEqual(lastBody().citation_options, { mode: 'OFF' });
});

test('a text is generated, whole and streamed', async () => {
  const request = { model: 'claude', prompt: 'hello there', maxTokens: 99 };
  const { prompt, generations } = await cohere.generate(request);
  assert.equal(prompt, 'hello there');
  assert.match(generations[0]!.text, /hello there/);
  let text = '';
  let end: unknown;
  for await (const event of await cohere.generateStream(request)) {
    if (event.eventType === 'text-generation') text += event.text;
    else if (event.eventType === 'stream-end') end = event.response.generations?.[0]?.text;
  }
  assert.deepEqual([text, end], [generations[0]!.text, text]);
});

test('texts are embedded, as floats and by type', async () => {
  const request = { model: 'embed', texts: ['one', 'two'], inputType: 'search_document' as const };
  const plain = await cohere.embed(request);
  assert.equal(plain.responseType, 'embeddings_floats');
  assert.deepEqual([plain.embeddings.length, plain.texts], [2, ['one', 'two']]);
  const typed = await cohere.embed({ ...request, embeddingTypes: ['float', 'int8'] });
  assert.equal(typed.responseType, 'embeddings_by_type');
  assert.deepEqual(typed.embeddings.float, plain.embeddings);
  assert.equal(typed.embeddings.int8!.length, 2);
});

test('errors name the fields of version 1', async () => {
  const refused = async (body: object, path = '/v1/chat') => {
    const response = await gateway.fetch(path, { json: { model: 'chat', ...body } });
    const { message, param } = (await response.json()) as { message: string; param: string };
    assert.equal(response.status, 400, message);
    assert.ok(message.includes(`'${param}'`), message);
    return param;
  };
  const result = { call: { name: 'a' }, outputs: 'b' };
  assert.equal(await refused({ messages: [] }), 'message');
  assert.equal(await refused({ message: 7 }), 'message');
  assert.equal(await refused({ message: 'a', temperature: 9 }), 'temperature');
  assert.equal(await refused({ message: 'a', chat_history: [{ role: 'user' }] }), 'chat_history[0].role');
  assert.equal(await refused({ message: 'a', tool_results: [result] }), 'tool_results[0].outputs');
  assert.equal(await refused({ message: 'a', conversation_id: 'mine' }), 'conversation_id');
  assert.equal(await refused({ message: 'a', search_queries_only: true }), 'search_queries_only');
  assert.equal(await refused({ prompt: 'a', num_generations: 3 }, '/v1/generate'), 'num_generations');
  const error = await cohere.chat({ model: 'nobody', message: 'a' }).catch((reason: unknown) => reason);
  assert.ok(error instanceof CohereError && error.statusCode === 404);
  assert.match((error.body as { message: string }).message, /nobody/);
});

test('fields without a place are named in x-culvert-dropped, whole and streamed', async () => {
  for (const stream of [false, true]) {
    const connectors = [{ id: 'web-search' }];
    const json = { model: 'chat', message: 'a', connectors, prompt_truncation: 'AUTO', safety_mode: 'STRICT', stream };
    const answer = await gateway.fetch('/v1/chat', { json });
    assert.equal(answer.status, 200, await answer.clone().text());
    assert.deepEqual(answer.headers.get('x-culvert-dropped')?.split(', ').toSorted(), [
      'connectors',
      'prompt_truncation',
      'safety_mode',
    ]);
  }
});

for (const [from, model] of [
  ['another format', 'mock/eof=3events'],
  ["Cohere's own server", 'cut'],
] as const)
  test(`a stream of ${from} that breaks off ends with an error`, async () => {
    const { end, types } = await streamed({ model, message: 'hello there' });
    assert.equal(types.at(-1), 'stream-end');
    assert.equal(end.finishReason, 'ERROR');
  });

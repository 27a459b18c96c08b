import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import OpenAI from 'openai';
import { startGateway, type TestGateway, workersKnow } from '../start-gateway.ts';

/* Parts of an answer that the caller's format has no place for are told: in the header, or in the stream. */

const candidate = {
  index: 0,
  content: { role: 'model', parts: [{ text: 'It rains.' }, { executableCode: { language: 'PYTHON', code: '1' } }] },
  finishReason: 'STOP',
  groundingMetadata: {
    groundingChunks: [{ retrievedContext: { title: 'rain.txt', text: 'Rain.' } }],
    groundingSupports: [{ segment: { startIndex: 0, endIndex: 9, text: 'It rains.' }, groundingChunkIndices: [0] }],
  },
  urlContextMetadata: { urlMetadata: [{ retrievedUrl: 'https://a.example' }] },
};
const answerOf = (parts: object[]) => ({
  candidates: [{ ...candidate, content: { role: 'model', parts } }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 },
  modelVersion: 'gemini-own',
  responseId: 'own',
});
const answer = JSON.stringify(answerOf(candidate.content.parts));
/** Without a part that no guard reads. */
const plain = JSON.stringify(answerOf(candidate.content.parts.slice(0, 1)));
/** Two calls: OpenAI's older `functions` have a place for one. */
const calls = JSON.stringify({
  candidates: [
    {
      content: { role: 'model', parts: ['look', 'wait'].map((name) => ({ functionCall: { name, args: {} } })) },
      finishReason: 'STOP',
    },
  ],
});
/** As OpenRouter sends an image and a source in one message. */
const source = { url: 'https://a.example', title: 'A', start_index: 0, end_index: 9 };
const message = {
  ...{ role: 'assistant', content: 'It rains.' },
  images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }],
  annotations: [{ type: 'url_citation', url_citation: source }],
};
const drawn = { id: 'drawn', object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] };
/** As Anthropic sends search results: sources of each piece of the text. */
const found = (text: string, page: string) => {
  const citation = { type: 'web_search_result_location', url: page, title: page, encrypted_index: 'E', cited_text: '' };
  return { type: 'text', text, citations: [citation] };
};
const searched = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' },
  content: [found('It rains.', 'https://a.example'), found(' It pours.', 'https://b.example')],
  usage: { input_tokens: 3, output_tokens: 4 },
};
/** And places of a document that it was given. */
const inDocument = { type: 'char_location', cited_text: 'Rain.', document_index: 0, document_title: null };
const cited = {
  ...searched,
  content: [
    { type: 'text', text: 'It rains.', citations: [{ ...inDocument, start_char_index: 0, end_char_index: 5 }] },
  ],
};
const upstream = createServer((request, response) => {
  const streamed = request.url!.includes('streamGenerateContent');
  request.resume().on('end', () => {
    response.writeHead(200, { 'content-type': streamed ? 'text/event-stream' : 'application/json' });
    if (request.url!.startsWith('/cited/')) response.end(JSON.stringify(cited));
    else if (request.url!.endsWith('/messages')) response.end(JSON.stringify(searched));
    else if (request.url!.includes('/chat/completions')) response.end(JSON.stringify(drawn));
    else {
      const text = request.url!.includes('plain') ? plain : request.url!.includes('calls') ? calls : answer;
      response.end(streamed ? `data: ${text}\n\n` : text);
    }
  });
}).listen(0, '127.0.0.1');
await once(upstream, 'listening');
const base_url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1beta`;
after(() => void upstream.close());
const config = (stream: boolean) => ({
  providers: { google: { type: 'gemini', base_url, api_key: 'google-secret' } },
  models: { m: { targets: [{ provider: 'google', model: 'gemini-own', stream }] } },
});
const question = { model: 'm', messages: [{ role: 'user' as const, content: 'Weather?' }] };

test('a whole answer names in x-culvert-dropped what it lost', async (t) => {
  const gateway = await startGateway(t, config(false));
  const openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  const { data, response } = await openai.chat.completions.create(question).withResponse();
  assert.equal(data.choices[0]?.message.content, 'It rains.');
  assert.equal(response.headers.get('x-culvert-dropped'), 'executableCode, urlContextMetadata, annotations');
});

test("further calls, for which OpenAI's older functions have no place, are named in a whole answer and in a stream", async (t) => {
  const gateway = await startGateway(t, { ...config(false), models: { m: { targets: ['google/calls'] } } });
  const functions = ['look', 'wait'].map((name) => ({ name, parameters: { type: 'object' } }));
  const ask = (stream: boolean) => gateway.fetch('/v1/chat/completions', { json: { ...question, functions, stream } });
  const whole = await ask(false);
  assert.match(await whole.text(), /"function_call":\{"name":"look"/);
  assert.equal(whole.headers.get('x-culvert-dropped'), 'tool_calls');
  assert.match(await (await ask(true)).text(), /^: x-culvert-dropped: tool_calls$/m);
});

test("callers of Cohere's and Ollama's formats are told what has no place there", async (t) => {
  const gateway = await startGateway(t, config(false));
  for (const path of ['/v2/chat', '/api/chat']) {
    const response = await gateway.fetch(path, { json: { ...question, stream: false } });
    assert.match(await response.text(), /It rains\./);
    assert.match(response.headers.get('x-culvert-dropped') ?? '', /^executableCode/, path);
  }
});

test('several choices of one call each tell it once, in the header and in the stream', async (t) => {
  const gateway = await startGateway(t, config(false));
  const ask = (stream: boolean) =>
    gateway.fetch('/v1/chat/completions', { json: { ...question, n: 2, seed: 1, unknown_to_google: 1, stream } });
  const whole = await ask(false);
  const { choices } = (await whole.json()) as { choices: unknown[] };
  assert.equal(choices.length, 2);
  const dropped = whole.headers.get('x-culvert-dropped');
  assert.equal(dropped, 'unknown_to_google, executableCode, urlContextMetadata, annotations');
  assert.deepEqual(await lossesIn(gateway, whole), dropped.split(', '));

  const streamed = await ask(true);
  const lines = (await streamed.text()).split('\n').filter((line) => line !== '');
  assert.equal(
    lines.filter((line) => line.startsWith(':')).join(),
    ': x-culvert-dropped: executableCode, urlContextMetadata, annotations',
  );
  assert.equal(lines.at(-1), 'data: [DONE]');
  assert.deepEqual(await lossesIn(gateway, streamed), dropped.split(', '));
});

test('what an answer lost is told behind a guard too, whole and streamed', async (t) => {
  const models = { targets: [{ provider: 'google', model: 'plain' }] };
  const gateway = await startGateway(t, {
    ...config(true),
    guards: {
      masks: { check: 'personal-data', kinds: ['email'], action: 'mask', on: ['output'] },
      blocks: { check: 'words', words: ['made.up'], action: 'block', on: ['output'] },
    },
    models: {
      masks: { ...models, guards: ['masks'] },
      blocks: { ...models, guards: ['blocks'] },
    },
  });
  for (const model of ['masks', 'blocks']) {
    const ask = (stream: boolean) => gateway.fetch('/v1/chat/completions', { json: { ...question, model, stream } });
    assert.equal((await ask(false)).headers.get('x-culvert-dropped'), 'urlContextMetadata, annotations', model);
    const lines = (await (await ask(true)).text()).split('\n').filter((line) => line !== '');
    assert.equal(
      lines.filter((line) => line.startsWith(':')).join(),
      ': x-culvert-dropped: urlContextMetadata, annotations',
      model,
    );
    assert.equal(lines.at(-1), 'data: [DONE]', model);
  }
});

test('a kept answer names each of its losses once, whoever asked first and in which form', async (t) => {
  const claude = { type: 'anthropic', base_url: base_url.replace('v1beta', 'cited'), api_key: 'k' };
  const targets = [{ provider: 'claude', model: 'claude-own', stream: false }];
  const gateway = await startGateway(t, { providers: { claude }, models: { m: { targets, cache: { ttl: '1h' } } } });
  for (const first of [false, true]) {
    const ask = async (stream: boolean) => {
      const json = { ...question, unknown_to_claude: 1, seed: Number(first), stream };
      const response = await gateway.fetch('/v1/chat/completions', { json });
      const comments = (await response.text()).split('\n').filter((line) => line.startsWith(':'));
      const said = [response.headers.get('x-culvert-dropped') ?? '', ...comments].join(' ');
      return { hit: response.headers.get('x-culvert-cache')!.startsWith('hit'), names: said.match(/[a-z_]{4,}/g) };
    };
    assert.equal((await ask(first)).hit, false);
    await workersKnow();
    for (const stream of [false, true]) {
      const { hit, names } = await ask(stream);
      assert.ok(hit);
      const fields = names!.filter((name) => name === 'unknown_to_claude' || name === 'annotations');
      assert.deepEqual(fields, ['unknown_to_claude', 'annotations'], `${first} ${stream}: ${names}`);
    }
  }
});

/** Losses that the record of a request has. */
async function lossesIn(gateway: TestGateway, { headers }: Pick<Response, 'headers'>): Promise<string[]> {
  const id = headers.get('x-culvert-request-id')!;
  const record = (await (await gateway.fetch(`/v1/requests/${id}`)).json()) as {
    route: { losses: { field: string }[] };
  };
  return record.route.losses.map(({ field }) => field);
}

test('a stream that has begun says it in a comment before its end, and its record has it', async (t) => {
  const gateway = await startGateway(t, config(true));
  const response = await gateway.fetch('/v1/chat/completions', { method: 'POST', json: { ...question, stream: true } });
  const lines = (await response.text()).split('\n').filter((line) => line !== '');
  assert.equal(
    lines.filter((line) => line.startsWith(':')).join(),
    ': x-culvert-dropped: executableCode, urlContextMetadata, annotations',
  );
  assert.equal(lines.at(-1), 'data: [DONE]');

  const openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  const { data, response: head } = await openai.chat.completions.create({ ...question, stream: true }).withResponse();
  let said = '';
  for await (const chunk of data) said += chunk.choices[0]?.delta.content ?? '';
  assert.equal(said, 'It rains.', 'readers of events skip the comment');
  assert.deepEqual(await lossesIn(gateway, head), ['executableCode', 'urlContextMetadata', 'annotations']);
});

test('a source that comes with a picture keeps its place in the text, and nothing is lost', async (t) => {
  const gateway = await startGateway(t, {
    providers: { open: { type: 'openai', base_url, api_key: 'open-secret' } },
    models: { m: { targets: ['open/drawn'] } },
  });
  const messages = { ...question, max_tokens: 9 };
  const response = await gateway.fetch('/v1/messages', { json: messages });
  const { content } = (await response.json()) as { content: { type: string; citations?: { url: string }[] }[] };
  assert.deepEqual(
    content.map(({ type, citations = [] }) => [type, ...citations.map(({ url }) => url)]),
    [['text', source.url], ['image']],
  );
  assert.equal(response.headers.get('x-culvert-dropped'), null);
  const answered = await gateway.fetch('/v1/responses', { json: { model: 'm', input: 'Weather?' } });
  const { output } = (await answered.json()) as { output: { type: string; content?: { annotations: object[] }[] }[] };
  assert.deepEqual(
    output.map(({ type }) => type),
    ['message', 'image_generation_call'],
  );
  assert.deepEqual(output[0]!.content![0]!.annotations, [{ type: 'url_citation', ...source }]);
  const streamed = await gateway.fetch('/v1/responses', { json: { model: 'm', input: 'Weather?', stream: true } });
  const steps = [...(await streamed.text()).matchAll(/^event: response\.(image_generation_call\.\w+)$/gm)];
  assert.deepEqual(
    steps.map(([, step]) => step),
    ['in_progress', 'generating', 'completed'].map((step) => `image_generation_call.${step}`),
  );
});

test('OpenAI’s SDK, which keeps the last list of sources of a stream, has all of them', async (t) => {
  const gateway = await startGateway(t, {
    providers: { claude: { type: 'anthropic', base_url, api_key: 'claude-secret' } },
    models: { m: { targets: ['claude/m'] } },
  });
  const openai = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  for (const n of [1, 2]) {
    const { choices } = await openai.chat.completions.stream({ ...question, n }).finalChatCompletion();
    assert.equal(choices.length, n);
    for (const choice of choices) {
      assert.deepEqual(
        choice.message.annotations?.map(({ url_citation: { url, start_index } }) => [url, start_index]),
        [
          ['https://a.example', 0],
          ['https://b.example', 9],
        ],
      );
    }
  }
});

test('parts that one vendor alone has are named as dropped, and what was spoken comes as text', async (t) => {
  const spoken = { type: 'output_audio', data: 'AAAA', transcript: 'It pours.' };
  const text = { type: 'output_text', text: 'It rains.', annotations: [] };
  const tokens = { input_tokens: 3, output_tokens: 4 };
  const message = { role: 'assistant', content: 'It rains.', executed_tools: [{ index: 0, type: 'search' }] };
  const s3 = { format: 'png', source: { s3Location: { uri: 's3://pictures/a.png' } } };
  const answers: Record<string, object> = {
    responses: {
      ...{ id: 'resp_1', object: 'response', status: 'completed', usage: tokens },
      output: [{ type: 'message', role: 'assistant', status: 'completed', content: [text, spoken] }],
    },
    cohere: {
      ...{ id: 'c', finish_reason: 'COMPLETE', usage: { tokens } },
      message: {
        role: 'assistant',
        content: [
          { type: 'text', text: 'It rains.' },
          { type: 'chart', chart: {} },
        ],
      },
    },
    groq: { id: 'g', object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] },
    bedrock: {
      ...{ stopReason: 'end_turn', usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 } },
      output: { message: { role: 'assistant', content: [{ text: 'It rains.' }, { image: s3 }] } },
      additionalModelResponseFields: { top: 1 },
      ...{ trace: { guardrail: { match: '4111111111111111' } }, performanceConfig: { latency: 'optimized' } },
    },
    perplexity: {
      ...{ id: 'p', object: 'chat.completion', citations: ['https://a.example'], images: [] },
      choices: [{ index: 0, message: { role: 'assistant', content: 'It rains.' }, finish_reason: 'stop' }],
      related_questions: ['And tomorrow?'],
    },
  };
  const vendors = createServer((request, response) => {
    const name = request.url!.split('/')[1]!;
    response.writeHead(200, { 'content-type': 'application/json' });
    request.resume().on('end', () => response.end(JSON.stringify(answers[name] ?? { data: [] })));
  }).listen(0, '127.0.0.1');
  await once(vendors, 'listening');
  t.after(() => void vendors.close());
  const base = `http://127.0.0.1:${(vendors.address() as AddressInfo).port}`;
  const gateway = await startGateway(t, {
    providers: {
      responses: { type: 'openai', base_url: `${base}/responses/v1`, api_key: 'k', dialects: ['openai-responses'] },
      cohere: { type: 'cohere', base_url: `${base}/cohere`, api_key: 'k' },
      groq: { type: 'groq', base_url: `${base}/groq/v1`, api_key: 'k' },
      bedrock: { type: 'bedrock', base_url: `${base}/bedrock`, api_key: 'k', region: 'us-east-1' },
      perplexity: { type: 'perplexity', base_url: `${base}/perplexity`, api_key: 'k' },
    },
    guards: { pii: { check: 'personal-data', kinds: ['card'], action: 'mask', on: ['output'] } },
    models: Object.fromEntries(
      [...Object.keys(answers), 'guarded'].map((name) => {
        const provider = name === 'guarded' ? 'bedrock' : name;
        return [
          name,
          { targets: [{ provider, model: 'm', stream: false }], ...(provider !== name && { guards: ['pii'] }) },
        ];
      }),
    ),
  });
  for (const [model, dropped, shown] of [
    ['responses', 'content.output_audio', /It rains\..*It pours\./],
    ['cohere', 'content.chart', /It rains\./],
    ['groq', 'executed_tools', /It rains\./],
    ['bedrock', 'image, trace', /It rains\./],
    ['perplexity', 'related_questions', /It rains\..*https:\/\/a\.example/],
  ] as const) {
    const json = { model, max_tokens: 64, messages: [{ role: 'user', content: 'Weather?' }] };
    const response = await gateway.fetch('/v1/messages', { json });
    assert.match(await response.text(), shown);
    assert.equal(response.headers.get('x-culvert-dropped'), dropped);
  }
  const converse = { messages: [{ role: 'user', content: [{ text: 'Weather?' }] }] };
  const guarded = await gateway.fetch('/model/guarded/converse', { json: converse });
  const { output: _, metrics, usage, ...members } = (await guarded.json()) as Record<string, unknown>;
  assert.deepEqual(members, {
    stopReason: 'end_turn',
    additionalModelResponseFields: { top: 1 },
    trace: { guardrail: { match: '<CARD_1>' } },
    performanceConfig: { latency: 'optimized' },
  });
  assert.equal(guarded.headers.get('x-culvert-dropped'), null, 'its own format has them');
});

test('members of an answer of Messages are named as dropped, whole and streamed', async (t) => {
  const ended = (stop_reason: string, members: object) => ({
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason },
    content: stop_reason === 'refusal' && 'empty' in members ? [] : [{ type: 'text', text: 'It' }],
    usage: { input_tokens: 3, output_tokens: 4 },
    ...members,
  });
  const details = { type: 'refusal', category: 'cyber', explanation: 'Against the policy.' };
  const answers: Record<string, object> = {
    contained: ended('end_turn', {
      container: { id: 'container_1', expires_at: '2026-12-01T00:00:00Z' },
      context_management: { applied_edits: [{ type: 'clear_tool_uses_20250919', cleared_tool_uses: 3 }] },
    }),
    plain: ended('end_turn', { container: null, context_management: { applied_edits: [] }, stop_details: null }),
    broken: ended('refusal', { stop_details: details }),
    refused: ended('refusal', { stop_details: details, empty: true }),
  };
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    const { model, stream } = (body === '' ? {} : JSON.parse(body)) as { model?: string; stream?: boolean };
    const { content, stop_reason, ...rest } = (answers[model ?? ''] ?? {}) as {
      content?: object[];
      stop_reason?: string;
    };
    response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
    if (stream !== true) return void response.end(JSON.stringify(answers[model ?? ''] ?? { data: [] }));
    const { container, stop_details, context_management, ...message } = rest as Record<string, unknown>;
    const events = [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
      ...(content ?? []).flatMap((block, index) => [
        { type: 'content_block_start', index, content_block: block },
        { type: 'content_block_stop', index },
      ]),
      {
        type: 'message_delta',
        delta: { stop_reason, container, stop_details },
        context_management,
        usage: { output_tokens: 4 },
      },
      { type: 'message_stop' },
    ];
    response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const gateway = await startGateway(t, {
    providers: { claude: { type: 'anthropic', base_url: url, api_key: 'k' } },
    models: Object.fromEntries(Object.keys(answers).map((name) => [name, { targets: [`claude/${name}`] }])),
  });
  for (const [model, dropped] of [
    ['contained', 'container, context_management'],
    ['plain', null],
    ['broken', 'stop_details'],
    ['refused', null],
  ] as const) {
    const paths: [string, object][] = [
      ['/v1/chat/completions', question],
      ['/v1/responses', { input: 'Weather?', store: false }],
    ];
    for (const [path, json] of paths) {
      const whole = await gateway.fetch(path, { json: { ...json, model } });
      const text = await whole.text();
      assert.equal(whole.status, 200, text);
      assert.equal(whole.headers.get('x-culvert-dropped'), dropped, `${path} ${model}`);
      if (model === 'refused') assert.match(text, /cyber.*Against the policy\./);
      const streamed = await gateway.fetch(path, { json: { ...json, model, stream: true } });
      const comment = (await streamed.text()).split('\n').find((line) => line.startsWith(':'));
      assert.equal(comment, dropped === null ? undefined : `: x-culvert-dropped: ${dropped}`, `${path} ${model}`);
    }
  }
});

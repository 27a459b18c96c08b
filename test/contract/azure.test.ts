import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { AzureOpenAI } from 'openai';
import { betas, firstRequest } from '../clients/claude-code-body.ts';
import { listening } from '../forward-proxy.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { entraFacts, startEntra } from '../upstream-formats/entra.ts';

/* Azure OpenAI and AI Foundry: the endpoint at which a deployment is asked, and the parts of its filters that stay. */

const upstream = await startUpstream();
after(() => upstream.close());

/** As in content-filter-annotations of Azure's documentation. */
const filtered = {
  hate: { filtered: true, severity: 'high' },
  self_harm: { filtered: false, severity: 'safe' },
  jailbreak: { detected: true, filtered: true },
};
const refusal = {
  message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
  type: null,
  param: 'prompt',
  code: 'content_filter',
  status: 400,
  innererror: { code: 'ResponsibleAIPolicyViolation', content_filter_result: filtered },
};
const promptFound = [{ prompt_index: 0, content_filter_results: { violence: { filtered: false, severity: 'low' } } }];
const answerFound = { hate: { filtered: true, severity: 'medium' }, profanity: { filtered: false, detected: false } };
/** An answer that the filter broke off, in chunks, as Azure has it. */
const brokenOff = [
  { choices: [], created: 0, id: '', model: '', object: '', prompt_filter_results: promptFound },
  { choices: [{ index: 0, delta: { role: 'assistant', content: 'Well' }, content_filter_results: {} }] },
  { choices: [{ index: 0, delta: { content: ',' }, content_filter_results: { profanity: answerFound.profanity } }] },
  {
    choices: [
      { index: 0, delta: {}, finish_reason: 'content_filter', content_filter_results: { hate: answerFound.hate } },
    ],
  },
];
/** An answer that its asynchronous filter was not through with at its end. */
const lateFound = [
  { choices: [], created: 0, id: '', model: '', object: '', prompt_filter_results: promptFound },
  { choices: [{ index: 0, delta: { role: 'assistant', content: 'Well' } }] },
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  { choices: [], usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 } },
  {
    choices: [
      {
        index: 0,
        finish_reason: null,
        content_filter_results: answerFound,
        content_filter_offsets: { check_offset: 0, start_offset: 0, end_offset: 4 },
      },
    ],
  },
];
const filtering = createServer((request, response) => {
  request.resume().on('end', () => {
    const chunks = [brokenOff, lateFound][['broken-off', 'late'].findIndex((name) => request.url!.includes(name))];
    if (chunks !== undefined) {
      const frames = chunks.map((chunk) => `data: ${JSON.stringify({ id: 'c1', model: 'gpt', ...chunk })}\n\n`);
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`${frames.join('')}data: [DONE]\n\n`);
      return;
    }
    response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error: refusal }));
  });
}).listen(0, '127.0.0.1');
after(() => filtering.close());
await once(filtering, 'listening');
const filteringUrl = `http://127.0.0.1:${(filtering.address() as AddressInfo).port}`;

const entra = await startEntra();
after(() => entra.close());
const application = {
  tenant_id: entraFacts.tenant,
  client_id: entraFacts.client,
  client_secret: entraFacts.secret,
  authority: entra.url,
};

const gateway = await startGateway(
  { after: after as never },
  {
    // Each process fetches its own token of Entra ID.
    server: { processes: 1 },
    providers: {
      foundry: { type: 'azure-openai', base_url: `${upstream.url}/openai/v1/`, api_key: 'azure-secret' },
      preview: { type: 'azure-openai', base_url: upstream.url, api_key: 'azure-secret', api_version: 'preview' },
      dated: { type: 'azure-openai', base_url: upstream.url, api_key: 'azure-secret', api_version: '2024-10-21' },
      renamed: {
        type: 'azure-openai',
        base_url: `${upstream.url}/anthropic`,
        api_key: 'azure-secret',
        dialects: ['anthropic-messages'],
      },
      responses: {
        type: 'azure-openai',
        base_url: upstream.url,
        api_key: 'azure-secret',
        dialects: ['openai-chat', 'openai-responses'],
      },
      identified: { type: 'azure-openai', base_url: upstream.url, entra: application },
      refused: { type: 'azure-openai', base_url: upstream.url, entra: { ...application, client_secret: 'wrong' } },
      elsewhere: { type: 'azure-openai', base_url: upstream.url },
      annotates: { type: 'azure-openai', base_url: filteringUrl, api_key: 'azure-secret', api_version: '2024-10-21' },
      filters: { type: 'azure-openai', base_url: filteringUrl, api_key: 'azure-secret' },
    },
    models: {
      chat: { targets: ['foundry/claude-opus-4-8'] },
      gpt: { targets: ['foundry/my-gpt'] },
      'preview-gpt': { targets: ['preview/my-gpt'] },
      'dated-gpt': { targets: ['dated/my-gpt'] },
      'my-sonnet': { targets: ['renamed/my-sonnet'] },
      both: { targets: ['responses/my-gpt'] },
      'both-claude': { targets: ['responses/claude-haiku-4-5'] },
      identified: { targets: ['identified/my-gpt'] },
      'identified-claude': { targets: ['identified/claude-haiku-4-5'] },
      refused: { targets: ['refused/my-gpt'] },
      elsewhere: { targets: ['elsewhere/my-gpt'] },
      'broken-off': { targets: ['annotates/broken-off'] },
      late: { targets: ['annotates/late'] },
      filtered: { targets: ['filters/my-gpt'] },
    },
  },
);
await gateway.modelsKnown;
const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });
const hi = [{ role: 'user' as const, content: 'hi' }];

const ask = (model: string) => openai.chat.completions.create({ model, messages: hi });

/** The last request that came, without the others. */
const sent = () => upstream.requests().at(-1)!;

test("Claude Code's request reaches a Claude of Foundry as it was, at its own endpoint", async () => {
  const first = firstRequest('hi');
  const response = await gateway.fetch('/v1/messages?beta=true', { json: first, headers: { 'anthropic-beta': betas } });
  assert.equal(response.status, 200);
  assert.match(await response.text(), /event: message_stop/);
  const { path, headers, body } = sent();
  assert.equal(path, '/anthropic/v1/messages');
  assert.equal(headers['api-key'], 'azure-secret');
  assert.equal(headers['anthropic-version'], '2023-06-01');
  assert.equal(headers['anthropic-beta'], betas);
  assert.deepEqual(body, { ...first, model: 'claude-opus-4-8' });
});

test('callers of other formats reach it too, whole and streamed', async () => {
  const whole = await openai.chat.completions.create({ model: 'chat', messages: hi });
  assert.match(whole.choices[0]!.message.content ?? '', /Mock answer/);
  assert.equal(sent().path, '/anthropic/v1/messages');
  let text = '';
  for await (const chunk of await openai.chat.completions.create({ model: 'chat', messages: hi, stream: true })) {
    text += chunk.choices[0]?.delta.content ?? '';
  }
  assert.equal(text, whole.choices[0]!.message.content);
  const counted = await anthropic.messages.countTokens({ model: 'chat', messages: hi });
  assert.ok(counted.input_tokens > 0);
  assert.equal(sent().path, '/anthropic/v1/messages/count_tokens');
});

test('a Claude under another name is one where the configuration says so', async () => {
  await anthropic.messages.create({ model: 'my-sonnet', messages: hi, max_tokens: 5 });
  assert.equal(sent().path, '/anthropic/v1/messages');
});

test('other deployments are asked by the v1 API, by its preview, or by a dated version', async () => {
  const pathFor = async (model: string) => {
    await anthropic.messages.create({ model, messages: hi, max_tokens: 5 });
    return sent().path;
  };
  assert.equal(await pathFor('gpt'), '/openai/v1/chat/completions');
  assert.equal(await pathFor('preview-gpt'), '/openai/v1/chat/completions?api-version=preview');
  assert.equal(await pathFor('dated-gpt'), '/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21');
});

test('Responses go as they came where the configuration says that it speaks them; Claude keeps its own format', async () => {
  await openai.responses.create({ model: 'both', input: 'hi' });
  assert.equal(sent().path, '/openai/v1/responses');
  await openai.responses.create({ model: 'both-claude', input: 'hi' });
  assert.equal(sent().path, '/anthropic/v1/messages');
});

test('what the content filter found reaches callers of every format', async () => {
  const asked: [path: string, json: object][] = [
    ['/v1/chat/completions', { model: 'filtered', messages: hi }],
    ['/v1/messages', { model: 'filtered', messages: hi, max_tokens: 5 }],
    ['/v1/responses', { model: 'filtered', input: 'hi' }],
  ];
  for (const [path, json] of asked) {
    const response = await gateway.fetch(path, { json });
    assert.equal(response.status, 400, path);
    const { error } = (await response.json()) as { error: { message: string; innererror: typeof refusal.innererror } };
    assert.match(error.message, /content management policy/, path);
    assert.deepEqual(error.innererror.content_filter_result, filtered, path);
  }
  const google = await gateway.fetch('/v1beta/models/filtered:generateContent', {
    json: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  });
  assert.equal(google.status, 400);
  assert.match(await google.text(), /jailbreak/);
});

const ends = {
  'broken-off': { messages: 'refusal', responses: 'content_filter', gemini: 'SAFETY' },
  late: { messages: 'end_turn', responses: undefined, gemini: 'STOP' },
} as const;

/** Google's own words: members of Azure's are none of its format. */
function assertRated(answer: { candidates: Record<string, unknown>[]; promptFeedback?: object }): void {
  const category = 'HARM_CATEGORY_HATE_SPEECH';
  const [candidate] = answer.candidates;
  assert.deepEqual(candidate!.safetyRatings, [{ category, probability: 'MEDIUM', blocked: true }]);
  assert.deepEqual(answer.promptFeedback, {
    safetyRatings: [{ category: 'HARM_CATEGORY_DANGEROUS_CONTENT', probability: 'LOW' }],
  });
  assert.doesNotMatch(JSON.stringify(answer), /filter_results/);
}

for (const model of ['broken-off', 'late'] as const) {
  test(`what the filter found in prompt and answer stands in answers of every format (${model})`, async () => {
    const found = { prompt_filter_results: promptFound, content_filter_results: answerFound };
    const asked = async (path: string, json: object) => {
      const response = await gateway.fetch(path, { json });
      assert.equal(response.status, 200, path);
      return response.text();
    };
    const message = { model, messages: hi, max_tokens: 50 };
    const whole = JSON.parse(await asked('/v1/messages', message));
    assert.equal(whole.stop_reason, ends[model].messages);
    const chat = JSON.parse(await asked('/v1/chat/completions', { model, messages: hi }));
    assert.deepEqual(chat.choices[0].content_filter_results, answerFound);
    const response = JSON.parse(await asked('/v1/responses', { model, input: 'hi' }));
    assert.equal(response.incomplete_details?.reason, ends[model].responses);
    const contents = [{ role: 'user', parts: [{ text: 'hi' }] }];
    const google = JSON.parse(await asked(`/v1beta/models/${model}:generateContent`, { contents }));
    assert.equal(google.candidates[0].finishReason, ends[model].gemini);
    assertRated(google);
    for (const told of [whole, { ...chat, ...chat.choices[0] }, response]) {
      const { prompt_filter_results, content_filter_results } = told;
      assert.deepEqual({ prompt_filter_results, content_filter_results }, found);
    }
    for (const [path, json] of [
      ['/v1/messages', { ...message, stream: true }],
      ['/v1/responses', { model, input: 'hi', stream: true }],
      [`/v1beta/models/${model}:streamGenerateContent?alt=sse`, { contents }],
    ] as const) {
      const frames = (await asked(path, json)).split(/\r?\n/).filter((line) => line.startsWith('data: {'));
      const last = frames.map((line) => JSON.parse(line.slice(6))).findLast((one) => one.type !== 'message_stop');
      if (last.candidates !== undefined) {
        assertRated(last);
        continue;
      }
      const { prompt_filter_results, content_filter_results } = last.response ?? last;
      assert.deepEqual({ prompt_filter_results, content_filter_results }, found, path);
    }
  });
}

test('a token of Entra ID stands for a key, one for all requests', async () => {
  // The look at its list of models took it.
  const before = entra.asked().length;
  await Promise.all(['identified', 'identified', 'identified-claude'].map((model) => ask(model)));
  const tokens = upstream
    .requests()
    .slice(-3)
    .map(({ headers }) => headers.authorization);
  assert.deepEqual(new Set(tokens), new Set(['Bearer token-1']));
  assert.equal(sent().headers['api-key'], undefined);
  assert.equal(entra.asked().length, before);
});

test('an application that Entra ID refuses is a bad credential, in its words', async () => {
  const count = upstream.requests().length;
  const response = await gateway.fetch('/v1/chat/completions', { json: { model: 'refused', messages: hi } });
  assert.equal(response.status, 502);
  assert.match(await response.text(), /Entra ID gave no token to the application: it answered 401: AADSTS7000215/);
  assert.equal(upstream.requests().length, count);
});

test("a token of this machine goes to Azure's own addresses alone, unless the file says another", async () => {
  const before = entra.asked().length;
  await ask('elsewhere');
  assert.equal(sent().headers.authorization, undefined);
  assert.equal(entra.asked().length, before);
  const made = await gateway.fetch('/admin/v1/providers', {
    json: { name: 'mine', type: 'azure-openai', base_url: upstream.url, entra: {} },
    headers: { authorization: `Bearer ${adminKey}` },
  });
  assert.equal(made.status, 400);
  assert.match(await made.text(), /entra: write it in culvert.yaml/);
});

test("Azure's client of the openai package reads what the scripted upstream answers, with a key and with a token", async () => {
  const options = { endpoint: upstream.url, apiVersion: '2024-10-21', deployment: 'my-gpt', maxRetries: 0 };
  const client = new AzureOpenAI({ ...options, azureADTokenProvider: async () => 'token-of-entra' });
  const answer = await client.chat.completions.create({ model: 'my-gpt', messages: hi });
  assert.match(answer.choices[0]!.message.content ?? '', /Mock answer/);
  assert.equal(sent().path, '/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21');
  assert.equal(sent().headers.authorization, 'Bearer token-of-entra');
});

test('deployments are discovered with the types of their models, where the key may see them', async (t) => {
  let refuses = 0;
  const server = createServer((request, response) => {
    const isList = request.url === '/openai/deployments?api-version=2023-03-15-preview';
    const row = (id: string, model: string, status = 'succeeded') => ({ id, model, status, object: 'deployment' });
    const data = [row('my-gpt', 'gpt-4o'), row('vectors', 'text-embedding-3-small'), row('new', 'gpt-4o', 'running')];
    const status = refuses || (isList && request.headers['api-key'] === 'azure-secret' ? 200 : 404);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(status === 200 ? { object: 'list', data } : { error: { code: '404', message: 'no' } }));
  });
  const url = `http://127.0.0.1:${await listening(t, server)}`;
  const own = await startGateway(t, {
    providers: { azure: { type: 'azure-openai', base_url: url, api_key: 'azure-secret' } },
  });
  await own.modelsKnown;
  const { data } = (await (await own.fetch('/v1/models')).json()) as { data: { id: string; model_type: string }[] };
  const types = Object.fromEntries(data.map(({ id, model_type: type }) => [id, type]));
  assert.equal(types['azure/my-gpt'], 'chat');
  assert.equal(types['azure/vectors'], 'embedding');
  assert.equal(types['azure/new'], undefined);
  for (const [status, verdict] of [
    [404, 'not listed'],
    [403, 'not listed'],
    [401, 'bad credential'],
  ] as const) {
    refuses = status;
    const looked = await own.fetch('/admin/v1/providers/test', {
      headers: { authorization: `Bearer ${adminKey}` },
      json: { type: 'azure-openai', base_url: url, api_key: 'another' },
    });
    assert.equal(((await looked.json()) as { verdict: string }).verdict, verdict);
  }
});

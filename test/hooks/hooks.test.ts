import assert from 'node:assert/strict';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { WebSocket } from 'ws';
import type { JsonObject } from '../../src/kernel/json.ts';
import { createLog } from '../../src/observe/log.ts';
import { openCascade, sound, userSays } from '../contract/cascade-caller.ts';
import { startAgent } from '../start-agent.ts';
import { adminKey, otherKey, overUpstreams, startGateway, type TestGateway, testKey } from '../start-gateway.ts';
import { startMcpServer } from '../start-mcp-server.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { startRealtime } from '../upstream-formats/start-realtime.ts';

/* Hooks of an operator: modules in their threads, over requests of several formats. */

const upstream = await startUpstream();
after(() => upstream.close());
const folder = temporaryFolder({ after });

/** A module with these functions; its path. Node takes 50 ms of each thread to load its reader of types. */
function moduleOf(name: string, functions: string, extension: 'mjs' | 'ts' = 'mjs'): string {
  const file = join(folder, `${name}.${extension}`);
  writeFileSync(file, `export default { version: 1, ${functions} };\n`);
  return file;
}

const log = (await createLog({ level: 'silent', form: 'json' })).log;
const said: { fields: Record<string, unknown>; message: string }[] = [];
for (const level of ['info', 'warn', 'error'] as const)
  log[level] = ((fields: Record<string, unknown>, message: string) => void said.push({ fields, message })) as never;

/** Its answers are those that a test scripts. */
const plain = { chat: { targets: [{ provider: 'up1', model: 'plain' }] } };

/** On a busy machine the first call of a module takes longer than the usual 200 ms. */
const patience = { deadline: '10s' };

async function withHooks(
  t: Pick<TestContext, 'after'>,
  hooks: Record<string, object>,
  more: Record<string, unknown> = {},
): Promise<TestGateway> {
  upstream.clear();
  const patient = Object.fromEntries(Object.entries(hooks).map(([name, hook]) => [name, { ...patience, ...hook }]));
  const gateway = await startGateway(
    t,
    { ...overUpstreams(upstream.url), models: plain, hooks: patient, ...more },
    { log, env: { SEEN: 'yes', HIDDEN: 'secret' } },
  );
  // Its look at the upstream's models is a request, too.
  await gateway.modelsKnown;
  return gateway;
}

const chat = (more: object = {}) => ({
  model: 'chat',
  messages: [{ role: 'user', content: 'My name is Ann.' }],
  ...more,
});
const send = (gateway: TestGateway, json: object = chat(), init: RequestInit = {}) =>
  gateway.fetch('/v1/chat/completions', { json, ...init });
const sentBody = () => upstream.requests().at(-1)?.body as Record<string, unknown>;

test('a hook changes texts, model, tag and parameters of a request, in every format', async (t) => {
  const module = moduleOf(
    'changes',
    `onRequest({ texts, caller, model, endpoint }: { texts: { kind: string; text: string }[]; [name: string]: any }) {
      const changes = texts.flatMap(({ kind, text }, at) => kind === 'user' ? [{ at, text: text.replace('Ann', caller.account) }] : []);
      return { texts: changes, tag: 'from-hook', model: model === 'chat' ? 'other' : undefined, parameters: { temperature: 0.25, top_p: 0.5, max_tokens: 40, reasoning_effort: 'low' }, system: 'Be short.' };
    }`,
    'ts',
  );
  const models = {
    ...plain,
    embed: { type: 'embedding', targets: [{ provider: 'up1', model: 'plain' }] },
    other: { targets: [{ provider: 'up1', model: 'larger' }] },
  };
  const gateway = await withHooks(t, { changes: { module } }, { models });
  const answer = await send(gateway);
  assert.equal(answer.status, 200, await answer.clone().text());
  assert.equal(answer.headers.get('x-culvert-model'), 'larger');
  const { messages, temperature, top_p, reasoning_effort, max_completion_tokens, max_tokens } = sentBody();
  assert.deepEqual([temperature, top_p, reasoning_effort, max_completion_tokens ?? max_tokens], [0.25, 0.5, 'low', 40]);
  assert.deepEqual(messages, [
    { role: 'system', content: 'Be short.' },
    { role: 'user', content: 'My name is dev.' },
  ]);
  const id = answer.headers.get('x-culvert-request-id');
  await until('the request is in the ledger', async () => (await gateway.fetch(`/v1/requests/${id}`)).ok);
  const record = (await (await gateway.fetch(`/v1/requests/${id}`)).json()) as Record<string, unknown>;
  assert.equal(record.tag, 'from-hook');

  await gateway.fetch('/v1/messages', { json: { ...chat(), max_tokens: 50 } });
  assert.match(JSON.stringify(sentBody()), /My name is dev\./);
  await gateway.fetch('/v1/responses', { json: { model: 'chat', input: 'My name is Ann.' } });
  assert.match(JSON.stringify(sentBody()), /My name is dev\./);
  await gateway.fetch('/v1beta/models/chat:generateContent', {
    json: { contents: [{ role: 'user', parts: [{ text: 'My name is Ann.' }] }] },
  });
  assert.match(JSON.stringify(sentBody()), /My name is dev\./);
  const embedded = await gateway.fetch('/v1/embeddings', { json: { model: 'embed', input: 'My name is Ann.' } });
  assert.equal(embedded.status, 200, await embedded.text());
});

test('a hook changes what a response continues, whose turns are kept once', async (t) => {
  const module = moduleOf(
    'changes-continued',
    `onRequest({ texts }) {
      const changes = texts.flatMap(({ kind, text }, at) => kind === 'user' ? [{ at, text: text.replace('Ann', 'Bob') }] : []);
      return { texts: changes, parameters: { temperature: 0.25 }, system: 'Be short.' };
    }`,
  );
  const gateway = await withHooks(t, { changes: { module } });
  const respond = async (input: string, more: object = {}) => {
    const answer = await gateway.fetch('/v1/responses', { json: { model: 'chat', input, store: true, ...more } });
    const body = (await answer.json()) as { id: string; previous_response_id: string | null };
    assert.equal(answer.status, 200, JSON.stringify(body));
    return body;
  };
  const first = await respond('My name is Ann.');
  const second = await respond('Who is Ann?', { previous_response_id: first.id });
  assert.equal(second.previous_response_id, first.id);
  const sent = sentBody();
  assert.equal(sent.temperature, 0.25);
  assert.equal(JSON.stringify(sent).split('Be short.').length, 2, JSON.stringify(sent));
  assert.match(JSON.stringify(sent), /My name is Bob\..*Who is Bob\?/);
  const items = await (await gateway.fetch(`/v1/responses/${second.id}/input_items?order=asc`)).text();
  for (const text of ['My name is Bob.', 'Who is Bob?']) assert.equal(items.split(`"text":"${text}"`).length, 2, items);
  const third = await respond('And Ann?', { previous_response_id: second.id });
  assert.equal(third.previous_response_id, second.id);
  assert.equal(JSON.stringify(sentBody()).split('"Who is Bob?"').length, 2);
});

test('a hook refuses with its own message, for those that it is set up for', async (t) => {
  const module = moduleOf('refuses', `onRequest: () => ({ refuse: 'Not on Sundays.' })`);
  const gateway = await withHooks(t, { refuses: { module, accounts: ['other'] } });
  assert.equal((await send(gateway)).status, 200);
  const refused = await send(gateway, chat(), { headers: { authorization: `Bearer ${otherKey}` } });
  assert.equal(refused.status, 400);
  const { error } = (await refused.json()) as { error: { message: string; code: string } };
  assert.match(error.message, /Not on Sundays\./);
});

test('a hook chooses among the targets, and sees each attempt and the end', async (t) => {
  const module = moduleOf(
    'routes',
    `onRoute: ({ targets }) => ({ targets: targets.toReversed() }),
     onAttempt: (attempt) => console.log('attempt ' + JSON.stringify(attempt)),
     onSettled: (settled) => console.log('settled ' + JSON.stringify(settled))`,
  );
  const models = {
    chat: {
      targets: [
        { provider: 'up1', model: 'first', priority: 1 },
        { provider: 'up1', model: 'second', priority: 2 },
        { provider: 'up1', model: 'mock/status=503', priority: 3 },
      ],
    },
  };
  const gateway = await withHooks(t, { routes: { module } }, { models });
  const answer = await send(gateway);
  assert.equal(answer.headers.get('x-culvert-model'), 'second', await answer.text());
  const lines = () => said.flatMap(({ fields }) => (fields.hook === 'routes' ? [String(fields.line)] : []));
  await until('it heard of the end', () => lines().some((line) => line.startsWith('settled')));
  const attempts = lines().filter((line) => line.startsWith('attempt'));
  assert.ok(attempts.length >= 2);
  assert.equal(JSON.parse(attempts[0]!.slice(8)).target, 'mock/status=503');
  const settled = JSON.parse(
    lines()
      .find((line) => line.startsWith('settled'))!
      .slice(8),
  );
  assert.equal(settled.target, 'up1/second');
  assert.equal(settled.caller.account, 'dev');
  assert.equal(settled.status, 200);
});

test('a kept answer comes from the targets that a hook chose for its caller', async (t) => {
  const isOther = `caller.keyName === 'other'`;
  const module = moduleOf(
    'parts-callers',
    `onRoute: ({ targets, caller }) => (${isOther} ? { targets: [targets[1]] } : null)`,
  );
  const targets = [
    { provider: 'up1', model: 'first', priority: 1 },
    { provider: 'up1', model: 'second', priority: 2 },
  ];
  const models = { chat: { targets, cache: { ttl: '1h', scope: 'account' } } };
  const keys = ['first', 'other'].map((name) => ({ key: `sk-cv-${name}-12345678`, account: 'dev', name }));
  const gateway = await withHooks(t, { chooses: { module } }, { models, keys });
  const by = async (name: string) => {
    const answer = await send(gateway, chat(), { headers: { authorization: `Bearer sk-cv-${name}-12345678` } });
    const { headers } = answer;
    assert.equal(answer.status, 200, await answer.text());
    return [headers.get('x-culvert-model'), headers.get('x-culvert-cache')?.slice(0, 4)];
  };
  assert.deepEqual(await by('first'), ['first', 'miss']);
  assert.deepEqual(await by('other'), ['second', 'miss']);
  assert.deepEqual(await by('first'), ['first', 'hit;']);
  assert.deepEqual(await by('other'), ['second', 'hit;']);
});

test('a hook changes and refuses answers, whole and streamed', async (t) => {
  const module = moduleOf(
    'answers',
    `onEvent({ texts }) {
      if (texts.some(({ text }) => text.includes('secret'))) return { refuse: 'No secrets.' };
      return { texts: texts.map(({ text }, at) => ({ at, text: text.toUpperCase() })) };
    }`,
  );
  const gateway = await withHooks(t, { answers: { module } });
  upstream.script('/v1/chat/completions', ['text=one. two. three.']);
  assert.match(await (await send(gateway)).text(), /ONE\. TWO\. THREE\./);
  upstream.script('/v1/chat/completions', ['text=one. two. three.']);
  const streamed = await (await send(gateway, chat({ stream: true }))).text();
  const text = [...streamed.matchAll(/"content":"([^"]*)"/g)].map(([, part]) => part).join('');
  assert.equal(text, 'ONE. TWO. THREE.');
  upstream.script('/v1/chat/completions', ['text=a secret']);
  const refused = await send(gateway);
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /No secrets/);
});

test('a call of a custom tool stays one where a hook changes answers', async (t) => {
  const call = { id: 'c', type: 'custom', custom: { name: 'patch', input: '*** "one"' } };
  const message = { role: 'assistant', content: null, tool_calls: [call] };
  const vendor = createServer((request, response) => {
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ id: 'a', choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }));
    });
  });
  await new Promise<void>((ready) => vendor.listen(0, ready));
  t.after(() => vendor.close());
  const { port } = vendor.address() as AddressInfo;
  const module = moduleOf('calls', `onEvent: ({ texts }) => ({ texts: texts.map(({ text }, at) => ({ at, text })) })`);
  const gateway = await withHooks(
    t,
    { calls: { module } },
    {
      providers: { own: { type: 'openai', api_key: 'k', base_url: `http://127.0.0.1:${port}/v1` } },
      models: { chat: { targets: ['own/m'] } },
    },
  );
  const tools = [{ type: 'custom', custom: { name: 'patch' } }];
  const answer = await (await send(gateway, chat({ tools }))).json();
  const [choice] = (answer as { choices: { message: JsonObject }[] }).choices;
  assert.deepEqual(choice?.message.tool_calls, [call]);
});

test('a hook gets the texts of answers of other families, and no words of their formats', async (t) => {
  const module = moduleOf(
    'families',
    `onAnswer: ({ texts }) => ({ texts: texts.map(({ text }, at) => ({ at, text: text.toUpperCase() })) })`,
  );
  const gateway = await withHooks(t, { families: { module } });
  upstream.script('/v1/completions', ['text=one.']);
  const answer = await gateway.fetch('/v1/completions', { json: { model: 'chat', prompt: 'One?' } });
  const { id, object, model, choices } = (await answer.json()) as JsonObject;
  assert.match(String(id), /^cmpl-/);
  assert.deepEqual([object, model], ['text_completion', 'plain']);
  assert.deepEqual(choices, [{ index: 0, text: 'ONE.', logprobs: null, finish_reason: 'stop' }]);
});

test('a hook that changes each text leaves ids and words of formats alone', async (t) => {
  const every = ({ sign }: { sign: string }) =>
    `({ texts }) => ({ texts: texts.map(({ text }, at) => ({ at, text: text + '${sign}' })) })`;
  const module = moduleOf('every', `onRequest: ${every({ sign: ' one' })}, onAnswer: ${every({ sign: ' two' })}`);
  const models = {
    embed: { type: 'embedding', targets: ['culvert/culvert-lexical-1024'] },
    judge: { type: 'moderation', targets: ['up1/omni-moderation-latest'] },
    draw: { type: 'image', targets: ['up1/gpt-image-1'] },
  };
  const [agent, mcp] = await Promise.all([startAgent(t), startMcpServer(t, { tools: ['greet'] })]);
  const gateway = await withHooks(
    t,
    { every: { module } },
    {
      ...{ models, vectors: { stores: { embedding_model: 'embed' } } },
      ...{ agents: { worker: { url: agent.url } }, mcp: { servers: { one: { url: mcp.url } } } },
    },
  );
  const call = async (path: string, json?: object, method = json === undefined ? 'GET' : 'POST') => {
    const answer = await gateway.fetch(path, { method, ...(json !== undefined && { json }) });
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
    return JSON.parse(text) as Record<string, never> & { id: string; status: string; data: JsonObject[] };
  };
  const form = new FormData();
  form.set('purpose', 'assistants');
  form.set('file', new Blob(['A text about cheese.']), 'cheese.txt');
  const { id } = (await (await gateway.fetch('/v1/files', { method: 'POST', body: form })).json()) as { id: string };
  const store = await call('/v1/vector_stores', { name: 'Food', file_ids: [id] });
  const file = `/v1/vector_stores/${store.id}/files/${id}`;
  await until('the file is read', async () => (await call(file)).status === 'completed');
  const search = () => call(`/v1/vector_stores/${store.id}/search`, { query: 'cheese' });
  const [found] = (await search()).data;
  assert.deepEqual(
    [found!.file_id, found!.filename, found!.content],
    [id, 'cheese.txt one two', [{ type: 'text', text: 'A text about cheese. one two' }]],
  );
  assert.deepEqual((await call(`${file}/content`)).data, [{ type: 'text', text: 'A text about cheese. one two' }]);
  await call(file, undefined, 'DELETE');
  assert.deepEqual((await search()).data, [], 'what was removed is found no more');
  const { results } = (await call('/v1/moderations', { model: 'judge', input: 'Hello' })) as unknown as {
    results: JsonObject[];
  };
  assert.deepEqual((results[0]!.category_applied_input_types as JsonObject).violence, ['text']);
  const message = { kind: 'message', role: 'user', messageId: 'm1', parts: [{ kind: 'text', text: 'hello' }] };
  const said = await call('/a2a/worker', { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } });
  const { kind, parts } = said.result as unknown as JsonObject;
  assert.deepEqual(
    [said.jsonrpc, kind, parts],
    ['2.0', 'message', [{ kind: 'text', text: 'You said: hello one two' }]],
  );
  await call('/v1/mcp/call', { tool: 'one__greet', arguments: { name: 'Ann' } });
  const order = { background: 'opaque', output_format: 'png', moderation: 'low' };
  const drawn = await call('/v1/images/generations', {
    model: 'draw',
    prompt: 'A cat.',
    ...order,
    response_format: 'b64_json',
  });
  assert.deepEqual([drawn.background, drawn.output_format], ['opaque', 'png']);
  assert.deepEqual(sentBody(), { ...sentBody(), ...order, prompt: 'A cat. one' });
});

test('onAnswer sees a whole stream before its caller does', async (t) => {
  const module = moduleOf(
    'whole',
    `onAnswer: ({ texts }) => ({ texts: [{ at: 0, text: texts.length + ' text of ' + texts[0].text.length }] })`,
  );
  const gateway = await withHooks(t, { whole: { module } });
  upstream.script('/v1/chat/completions', ['text=one. two. three.']);
  const streamed = await (await send(gateway, chat({ stream: true }))).text();
  assert.match(streamed, /1 text of 16/);
});

test('a session over other models passes the hooks of each step', async (t) => {
  const module = moduleOf(
    'steps',
    `onRequest({ texts, endpoint }) {
      if (texts.some(({ text }) => text.includes('secret'))) return { refuse: 'No secrets.' };
      return { texts: texts.flatMap(({ kind, text }, at) => kind === 'user' ? [{ at, text: text.replace('Ann', endpoint) }] : []) };
    },
    onAnswer: ({ texts, endpoint }) => ({ texts: texts.map((_, at) => ({ at, text: endpoint === 'chat' ? 'Noon.' : 'I am Ann.' })) })`,
  );
  const models = {
    talk: { targets: ['up1/plain'], realtime: { transcription: 'hears', speech: 'speaks' } },
    hears: { type: 'transcription', targets: ['up1/whisper-1'] },
    speaks: { type: 'speech', targets: ['up1/tts-1'] },
  };
  const gateway = await withHooks(t, { team: { module } }, { models });
  const caller = await openCascade(t, gateway, { audio: { input: { turn_detection: null } } });
  caller.send('input_audio_buffer.append', { audio: sound(500, 0.3) });
  caller.send('input_audio_buffer.commit');
  assert.equal((await caller.response()).status, 'completed');
  assert.equal((await caller.heard('response.output_audio_transcript.done')).transcript, 'Noon.');
  const bodiesOf = (path: string) => upstream.requests().flatMap((one) => (one.path === path ? [one.body] : []));
  assert.deepEqual((bodiesOf('/v1/chat/completions')[0] as JsonObject).messages, [
    { role: 'user', content: 'I am chat.' },
  ]);
  assert.equal((bodiesOf('/v1/audio/speech')[0] as JsonObject).input, 'Noon.');
  caller.send('conversation.item.create', userSays('A secret.'));
  assert.equal((await caller.response()).status, 'failed');
  const { error } = (await caller.heard('error')) as unknown as { error: JsonObject };
  assert.match(String(error.message), /No secrets\./);
  assert.deepEqual([bodiesOf('/v1/chat/completions').length, bodiesOf('/v1/audio/speech').length], [1, 1]);
});

test('members of null change nothing', async (t) => {
  const module = moduleOf(
    'nulls',
    `onRequest: () => ({ refuse: null, model: null, tag: undefined, texts: null, system: null, parameters: null }),
     onRoute: () => ({ refuse: null, targets: null }), onAnswer: () => ({ refuse: null, texts: null })`,
  );
  const gateway = await withHooks(t, { nulls: { module } });
  assert.match(await (await send(gateway)).text(), /Mock answer to: My name is Ann/);
});

for (const [what, functions, why] of [
  ['throws', `onRequest() { throw new Error('My name is Ann.') }`, /it threw \(Error\)/],
  ['rejects', `async onRequest() { await null; throw new TypeError('x') }`, /it threw \(TypeError\)/],
  ['hangs in a loop', `onRequest() { for (;;); }`, /before its deadline/],
  ['waits for ever', `onRequest: () => new Promise(() => {})`, /before its deadline/],
  [
    'eats memory',
    `onRequest() { const all = []; for (;;) all.push(new Array(1e6).fill({})); }`,
    /MB of memory|before its deadline/,
  ],
  ['ends its thread', `onRequest() { process.exit(3) }`, /ended its thread/],
  ['replies with a number', `onRequest: () => 7`, /its reply is not an object/],
  [
    'replies with what it made up',
    `onRequest: () => ({ modle: 'x' })`,
    /its reply has 'modle'; it may have refuse, model/,
  ],
  ['changes the account', `onRequest: () => ({ account: 'rich' })`, /changes 'account', which no hook may/],
  ['changes a price', `onRequest: () => ({ price: 0 })`, /changes 'price', which no hook may/],
  [
    'changes a text that is not there',
    `onRequest: () => ({ texts: [{ at: 9, text: '' }] })`,
    /has the place 9, and there are 1 texts/,
  ],
  ['sends a temperature of 9', `onRequest: () => ({ parameters: { temperature: 9 } })`, /no such value of temperature/],
  ['sends a credential', `onRequest: () => ({ parameters: { api_key: 'x' } })`, /has 'api_key'/],
  ['replies with a circle', `onRequest() { const a = {}; a.a = a; return a; }`, /cannot be written as JSON/],
  ['replies with a function', `onRequest: () => () => ({ refuse: 'No.' })`, /cannot be written as JSON/],
  ['refuses with a symbol', `onRequest: () => ({ refuse: Symbol('No.') })`, /cannot be written as JSON/],
  ['refuses with no number', `onRequest: () => ({ refuse: 0 / 0 })`, /cannot be written as JSON/],
  ['returns an error', `onRequest: () => new Error('My name is Ann.')`, /cannot be written as JSON/],
  ['replies with a map', `onRequest: () => new Map([['refuse', 'No.']])`, /cannot be written as JSON/],
  ['names targets of others', `onRoute: () => ({ targets: ['up9/free'] })`, /none of the given ones/],
] as const) {
  test(`a hook that ${what} is cut off: on_error decides, and the next request has it again`, async (t) => {
    const module = moduleOf(what.replaceAll(' ', '-'), functions);
    const deadline = why.source.includes('deadline') ? '300ms' : patience.deadline;
    const hook = { module, deadline, memory: '16mb' };
    const denying = await withHooks(t, { bad: hook });
    said.length = 0;
    for (let time = 0; time < 2; time += 1) {
      const denied = await send(denying);
      assert.equal(denied.status, 503, await denied.clone().text());
      const text = await denied.text();
      assert.match(text, /The hook 'bad' of this server gave no usable reply/);
      assert.doesNotMatch(text, /Ann|threw|thread/);
    }
    const told = said.find(({ message }) => message === 'a hook failed');
    assert.match(String(told?.fields.why), why);
    assert.doesNotMatch(JSON.stringify(said), /Ann/);
    const allowing = await withHooks(t, { bad: { ...hook, on_error: 'allow' } });
    assert.equal((await send(allowing)).status, 200);
    assert.equal((await send(allowing, chat({ stream: true }))).status, 200);
  });
}

for (const [what, write, why] of [
  ['there is no such file', () => './nowhere.ts', /there is no .*nowhere\.ts/],
  [
    'the package is not installed',
    () => 'culvert-hook-nowhere',
    /the package 'culvert-hook-nowhere' is not installed: run "npm install culvert-hook-nowhere" in /,
  ],
  ['it has no functions', () => moduleOf('empty-module', ''), /it has none of the functions onRequest/],
  [
    'it has a function of another name',
    () => moduleOf('misspelt', 'onReqest() {}'),
    /it has 'onReqest'; hooks are onRequest/,
  ],
  ['it cannot be parsed', () => moduleOf('unparsed', 'onRequest( {', 'ts'), /\w/],
  [
    'it is of another version',
    () => {
      writeFileSync(join(folder, 'old.js'), 'export default { version: 9 }');
      return join(folder, 'old.js');
    },
    /version: 1/,
  ],
  ['it has onAnswer and onEvent', () => moduleOf('both', 'onAnswer() {}, onEvent() {}'), /keep one of them/],
] as const) {
  test(`a module that cannot be used is said at the start, and nobody passes without it: ${what}`, async (t) => {
    said.length = 0;
    const gateway = await withHooks(t, { team: { module: write() } });
    const told = said.find(({ message }) => message === 'a hook cannot be used');
    assert.match(String(told?.fields.why), why);
    assert.equal((await send(gateway)).status, 503);
  });
}

test('a realtime session is refused where a hook has texts to see, unless on_error lets it pass', async (t) => {
  const sessions = await startRealtime(t);
  const more = {
    providers: { up: { type: 'openai', base_url: `${sessions.url}/v1`, api_key: 'k' } },
    models: { chat: { targets: ['up/gpt-realtime'] } },
  };
  const seeing = moduleOf('sees-requests', 'onRequest() { return null; }');
  for (const [hook, status] of [
    [{ module: seeing }, 503],
    [{ module: moduleOf('sees-answers', 'onAnswer() { return null; }') }, 503],
    [{ module: join(folder, 'nowhere.ts') }, 503],
    [{ module: seeing, on_error: 'allow' }, 101],
    [{ module: moduleOf('sees-targets', 'onRoute() { return null; }') }, 101],
  ] as const) {
    const gateway = await withHooks(t, { team: hook }, more);
    const headers = { authorization: `Bearer ${testKey}` };
    const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/realtime?model=chat`, { headers });
    const got = await new Promise<number | undefined>((resolve) => {
      socket.once('open', () => resolve(101));
      socket.once('unexpected-response', (_, { statusCode }) => resolve(statusCode));
    });
    socket.on('error', () => undefined).terminate();
    assert.equal(got, status, JSON.stringify(hook));
  }
});

test('the log says why a function fails that no request waits for, and ignores what it replies', async (t) => {
  const broken = moduleOf(
    'looks-and-throws',
    `onAttempt() { throw new RangeError('Ann') }, onSettled: () => { throw new TypeError('Ann') }`,
  );
  const chatty = moduleOf('looks-and-replies', `onAttempt: () => 7, onSettled: async () => new Map()`);
  const gateway = await withHooks(t, { broken: { module: broken }, chatty: { module: chatty } });
  said.length = 0;
  assert.equal((await send(gateway)).status, 200);
  const failures = () => said.filter(({ message }) => message === 'a hook failed');
  await until('the log says so', () => failures().length > 0);
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.deepEqual(
    failures().map(({ fields: { hook, why } }) => ({ hook, why })),
    [{ hook: 'broken', why: 'onAttempt: it threw (RangeError)' }],
    'once in ten seconds',
  );
});

test('a hook sees neither keys nor credentials, and of headers and variables what it is given', async (t) => {
  const module = moduleOf(
    'looks',
    `onRequest(request, context) { return { system: JSON.stringify({ request, context, env: process.env, argv: process.argv }) }; }`,
  );
  const hook = { module, headers: ['x-team'], env: ['SEEN'], settings: { limit: 3 } };
  const gateway = await withHooks(t, { looks: hook });
  await send(gateway, chat(), {
    headers: { authorization: `Bearer ${testKey}`, 'x-team': 'blue', 'x-other': 'hidden', cookie: 'a=b' },
  });
  const seen = String((sentBody().messages as { content: string }[])[0]?.content);
  assert.match(seen, /"x-team":"blue"/);
  assert.match(seen, /"SEEN":"yes"/);
  assert.match(seen, /"settings":\{"limit":3\}/);
  for (const hidden of [testKey, adminKey, 'upstream-secret-1', 'HIDDEN', 'hidden', 'a=b'])
    assert.ok(!seen.includes(hidden), hidden);
});

test("one account's slow hook does not hold another's requests", async (t) => {
  const released = join(folder, 'slow-hooks-may-end');
  const module = moduleOf(
    'slow',
    `async onRequest({ caller }) {
      const { existsSync } = await import('node:fs');
      while (caller.account === 'dev' && !existsSync(${JSON.stringify(released)})) await new Promise((resolve) => setTimeout(resolve, 20));
    }`,
  );
  const gateway = await withHooks(t, { slow: { module, deadline: '60s' } });
  let slowEnded = 0;
  const slow = Array.from({ length: 30 }, () =>
    send(gateway).then((answer) => {
      slowEnded += 1;
      return answer;
    }),
  );
  const other = await send(gateway, chat(), { headers: { authorization: `Bearer ${otherKey}` } });
  assert.equal(other.status, 200);
  assert.equal(slowEnded, 0);
  writeFileSync(released, '');
  for (const { status } of await Promise.all(slow)) assert.equal(status, 200);
});

test('a hook that hangs for one caller costs the others nothing but time', async (t) => {
  const module = moduleOf('hangs-for-one', `onRequest({ caller }) { if (caller.account === 'dev') for (;;); }`);
  const gateway = await withHooks(t, { hangs: { module, deadline: '300ms' } });
  const bad = send(gateway);
  const others = await Promise.all(
    Array.from({ length: 5 }, () => send(gateway, chat(), { headers: { authorization: `Bearer ${otherKey}` } })),
  );
  assert.deepEqual(
    others.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  );
  assert.equal((await bad).status, 503);
});

test('a reload takes changed code into use, and a stream under the old one ends', async (t) => {
  const write = (word: string) =>
    moduleOf(
      'reloaded',
      `onEvent: ({ texts }) => ({ texts: texts.map(({ text }, at) => ({ at, text: text.trim() === '' ? text : '${word} ' })) })`,
    );
  const module = write('old');
  const config = { ...overUpstreams(upstream.url), models: plain, hooks: { reloaded: { module, ...patience } } };
  upstream.clear();
  const gateway = await startGateway(t, config, { log });
  upstream.script('/v1/chat/completions', ['text=One. Two. Three. Four. Five.;interval=60ms']);
  const running = await send(gateway, chat({ stream: true }));
  await new Promise((resolve) => setTimeout(resolve, 20));
  write('new');
  await gateway.reload({ ...config, hooks: { reloaded: { module, ...patience, settings: { changed: true } } } });
  const text = await running.text();
  assert.match(text, /old/);
  assert.match(text, /\[DONE\]/);
  upstream.script('/v1/chat/completions', ['text=One.']);
  assert.match(await (await send(gateway)).text(), /new/);
  await gateway.reload({ ...config, hooks: {} });
  upstream.script('/v1/chat/completions', ['text=One.']);
  assert.match(await (await send(gateway)).text(), /One\./);
});

test('a reload takes changed files into use that a module imports', async (t) => {
  const write = (word: string) => writeFileSync(join(folder, 'rules.mjs'), `export const said = '${word}';\n`);
  write('old');
  const module = join(folder, 'imports.mjs');
  const functions = `onAnswer: ({ texts }) => ({ texts: texts.map((_, at) => ({ at, text: said })) })`;
  writeFileSync(module, `import { said } from './rules.mjs';\nexport default { version: 1, ${functions} };\n`);
  const config = { ...overUpstreams(upstream.url), models: plain, hooks: { imports: { module, ...patience } } };
  upstream.clear();
  const gateway = await startGateway(t, config, { log });
  assert.match(await (await send(gateway)).text(), /"content":"old"/);
  write('new');
  await gateway.reload({ ...config });
  assert.match(await (await send(gateway)).text(), /"content":"new"/);
});

test('a reload takes another release into use that a link names now', async (t) => {
  const link = join(folder, 'current');
  for (const word of ['one', 'two']) {
    mkdirSync(join(folder, word));
    const functions = `onAnswer: ({ texts }) => ({ texts: texts.map((_, at) => ({ at, text: '${word}' })) })`;
    writeFileSync(join(folder, word, 'hooks.mjs'), `export default { version: 1, ${functions} };\n`);
  }
  symlinkSync('one', link);
  const hooks = { linked: { module: join(link, 'hooks.mjs'), ...patience } };
  const config = { ...overUpstreams(upstream.url), models: plain, hooks };
  upstream.clear();
  const gateway = await startGateway(t, config, { log });
  assert.match(await (await send(gateway)).text(), /"content":"one"/);
  rmSync(link);
  symlinkSync('two', link);
  await gateway.reload({ ...config });
  assert.match(await (await send(gateway)).text(), /"content":"two"/);
});

test('a webhook gets signed requests, and its replies count as those of a module', async (t) => {
  const { Webhook } = await import('./verify-webhook.ts');
  const secret = 'a secret of more than thirty-two bytes';
  const got: Record<string, unknown>[] = [];
  let reply: (body: Record<string, unknown>) => unknown = () => ({});
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const part of request) text += part;
    assert.ok(Webhook.isSigned(request.headers, text, secret));
    const body = JSON.parse(text) as Record<string, unknown>;
    got.push(body);
    response.end(JSON.stringify(reply(body)));
  }).listen(0);
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  const gateway = await withHooks(t, {
    outside: { type: 'webhook', url, secret, events: ['onRequest', 'onEvent', 'onSettled'], deadline: '5s' },
  });
  reply = ({ on, texts }) =>
    on === 'onRequest'
      ? { texts: [{ at: 0, text: 'Said by the webhook.' }] }
      : { texts: ((texts ?? []) as { text: string }[]).map(({ text }, at) => ({ at, text: text.toUpperCase() })) };
  upstream.script('/v1/chat/completions', ['text=an answer.']);
  assert.match(await (await send(gateway)).text(), /AN ANSWER\./);
  assert.match(JSON.stringify(sentBody()), /Said by the webhook\./);
  await until('it heard of the end', () => got.some(({ on }) => on === 'onSettled'));
  assert.ok(got.every(({ version }) => version === 1));
  reply = () => 'nonsense';
  assert.equal((await send(gateway)).status, 503);
  server.close();
  server.closeAllConnections();
  assert.equal((await send(gateway)).status, 503);
});

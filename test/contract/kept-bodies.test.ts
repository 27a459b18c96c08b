import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, type TestContext, test } from 'node:test';
import type { BodiesReply } from '../../src/admin/bodies.ts';
import type { BodyRuleReply } from '../../src/admin/entries/body-rules.ts';
import type { RequestReply } from '../../src/admin/request-schema.ts';
import { adminKey, otherKey, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/* Issue 30 §4: an operator keeps bodies of a key, an account or a model for a time, and reads them as a conversation. */

const upstream = await startUpstream();
after(() => upstream.close());
const gateway = await startGateway({ after } as TestContext, {
  providers: {
    up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret-1' },
    claude: { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret-2' },
  },
  models: {
    chat: { targets: ['up/mock/ok'] },
    second: { targets: ['up/mock/ok'] },
    claude: { targets: ['claude/mock/ok'] },
    emb: { type: 'embedding', targets: ['up/mock/ok'] },
    say: { type: 'speech', targets: ['up/mock/ok'] },
    draw: { type: 'image', targets: ['up/mock/ok'] },
    masks: { targets: ['up/mock/ok'], guards: ['masks'] },
    blocks: { targets: ['up/mock/ok'], guards: ['blocks'] },
  },
  guards: {
    masks: { check: 'personal-data', kinds: ['email'], action: 'mask' },
    blocks: { check: 'personal-data', kinds: ['email'], action: 'block' },
  },
});

type Answer<Body> = Body & { status: number; error?: { message: string; param: string | null } };

async function admin<Body>(method: string, path: string, json?: unknown, key = adminKey): Promise<Answer<Body>> {
  const body = json === undefined ? {} : { body: JSON.stringify(json) };
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const answer = await gateway.fetch(`/admin/v1${path}`, { method, headers, ...body });
  return { status: answer.status, ...((await answer.json()) as Body) };
}

const keep = (rule: object) => admin<BodyRuleReply>('POST', '/body-rules', { reason: 'ticket 7', ...rule });

async function ask(path: string, json: object, key = testKey): Promise<string> {
  const answer = await gateway.fetch(path, { json, headers: { authorization: `Bearer ${key}` } });
  await answer.arrayBuffer();
  return answer.headers.get('x-culvert-request-id') ?? '';
}

const chat = (content: string, more: object = {}) => ({
  model: 'chat',
  messages: [{ role: 'user', content }],
  ...more,
});
const shown = (id: string) => admin<RequestReply>('GET', `/requests/${id}`);

async function stopAll(): Promise<void> {
  const { data } = await admin<{ data: BodyRuleReply[] }>('GET', '/body-rules');
  for (const { id } of data) await admin('DELETE', `/body-rules/${id}`);
}

afterEach(stopAll);

test('bodies of a key are kept from when an operator says so, to when one says stop, with the reason in the audit', async () => {
  const before = await ask('/v1/chat/completions', chat('before anybody asked'));
  const rule = await keep({ of: 'key', name: 'dev/test', until: '2h' });
  assert.equal(rule.status, 201);
  assert.equal(rule.label, 'dev/test');
  const whole = await ask('/v1/chat/completions', chat('a whole question'));
  const streamed = await ask('/v1/chat/completions', chat('a streamed question', { stream: true }));
  const foreign = await ask('/v1/chat/completions', chat('of somebody else'), otherKey);

  for (const [id, question] of [
    [whole, 'a whole question'],
    [streamed, 'a streamed question'],
  ] as const) {
    const { conversation, bodies } = await shown(id);
    const [asked, answered] = conversation!.turns;
    assert.deepEqual(asked, {
      role: 'user',
      from: 'request',
      index: 0,
      parts: [{ type: 'text', text: question }],
      finish: null,
    });
    assert.equal(answered?.role, 'assistant');
    assert.equal(answered?.finish, 'stop');
    assert.ok((answered?.parts[0]?.text?.length ?? 0) > 10);
    assert.match(bodies!.request, new RegExp(question));
  }
  for (const id of [before, foreign]) assert.equal((await shown(id)).bodies, null);

  assert.equal((await admin('DELETE', `/body-rules/${rule.id}`)).status, 200);
  const after = await ask('/v1/chat/completions', chat('after it ended'));
  assert.equal((await shown(after)).bodies, null);
  assert.match((await shown(after)).bodies_note!, /an operator names for a time/);

  const { data } = await admin<{ data: { action: string; subject: string; after: { reason: string } | null }[] }>(
    'GET',
    '/audit?action=bodies',
  );
  const [stop, begin] = data;
  assert.deepEqual([stop?.action, begin?.action], ['bodies.stop', 'bodies.keep']);
  assert.equal(begin?.after?.reason, 'ticket 7');
  // The file holds sealed texts alone.
  const file = ['bodies.db', 'bodies.db-wal'].map((name) =>
    readFileSync(join(gateway.dataDir, name)).toString('latin1'),
  );
  assert.ok(!file.join('').includes('a whole question'));
});

test('a rule of a model keeps its requests alone, of every key, in every format', async () => {
  await keep({ of: 'model', name: 'claude' });
  const other = await ask('/v1/chat/completions', chat('another model'));
  const picture = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' };
  const id = await ask(
    '/v1/messages',
    {
      model: 'claude',
      max_tokens: 50,
      system: 'Be brief.',
      tools: [{ name: 'get_weather', description: 'Tells the weather.', input_schema: { type: 'object' } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image', source: picture },
          ],
        },
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Rome' } }],
        },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'No such city', is_error: true }],
        },
      ],
    },
    otherKey,
  );
  assert.equal((await shown(other)).bodies, null);
  const { conversation } = await shown(id);
  assert.deepEqual(conversation?.tools, [{ name: 'get_weather', description: 'Tells the weather.' }]);
  assert.deepEqual(conversation?.settings, [{ name: 'max_tokens', value: '50' }]);
  const parts = conversation!.turns.flatMap((turn) => turn.parts.map((part) => ({ role: turn.role, ...part })));
  assert.deepEqual(
    parts
      .slice(0, 5)
      .map(({ role, type, text, name, media, failed, parts: inner }) => [
        role,
        type,
        text ?? name ?? media?.base64 ?? inner?.[0]?.text,
        failed,
      ]),
    [
      ['system', 'text', 'Be brief.', undefined],
      ['user', 'text', 'What is this?', undefined],
      ['user', 'image', 'iVBORw0KGgo=', undefined],
      ['assistant', 'tool-call', '{"city":"Rome"}', undefined],
      [parts[4]?.role, 'tool-result', 'No such city', true],
    ],
  );
  assert.equal(conversation!.turns.at(-1)?.from, 'answer');
});

const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const question = 'call get_weather';
const aiCall = (stream: boolean) => ({ 'ai-language-model-id': 'chat', 'ai-language-model-streaming': `${stream}` });
/** A question with a tool, which the upstream calls, in formats that no provider of this gateway speaks. */
const elsewhere: Record<string, { path: string; json: object; headers?: Record<string, string>; settings: string[] }> =
  {
    ...Object.fromEntries(
      [true, false].flatMap((stream) => [
        [
          `Ollama's, ${stream ? 'streamed' : 'whole'}`,
          {
            path: '/api/chat',
            json: {
              ...chat(question, { stream, options: { seed: 7 } }),
              tools: [
                { type: 'function', function: { name: 'get_weather', description: 'Weather.', parameters: city } },
              ],
            },
            settings: ['stream', 'options'],
          },
        ],
        [
          `the AI SDK's, ${stream ? 'streamed' : 'whole'}`,
          {
            path: '/v4/ai/language-model',
            json: {
              prompt: [{ role: 'user', content: [{ type: 'text', text: question }] }],
              tools: [{ type: 'function', name: 'get_weather', description: 'Weather.', inputSchema: city }],
              seed: 7,
            },
            headers: aiCall(stream),
            settings: ['seed'],
          },
        ],
        [
          `Bedrock's, ${stream ? 'streamed' : 'whole'}`,
          {
            path: `/model/chat/converse${stream ? '-stream' : ''}`,
            json: {
              messages: [{ role: 'user', content: [{ text: question }] }],
              toolConfig: {
                tools: [{ toolSpec: { name: 'get_weather', description: 'Weather.', inputSchema: { json: city } } }],
                toolChoice: { any: {} },
              },
            },
            settings: ['toolConfig.toolChoice'],
          },
        ],
      ]),
    ),
  };

for (const [format, { path, json, headers = {}, settings }] of Object.entries(elsewhere)) {
  test(`a call in a format that only callers speak is read as a conversation: ${format}`, async () => {
    await keep({ of: 'account', name: 'dev' });
    const answer = await gateway.fetch(path, { method: 'POST', json, headers });
    assert.equal(answer.status, 200, await answer.text());
    const { conversation } = await shown(answer.headers.get('x-culvert-request-id') ?? '');
    assert.deepEqual(conversation?.tools, [{ name: 'get_weather', description: 'Weather.' }]);
    assert.deepEqual(
      conversation!.settings.map(({ name }) => name),
      settings,
    );
    const [asked, answered, ...more] = conversation!.turns;
    assert.deepEqual([asked?.role, asked?.parts, more], ['user', [{ type: 'text', text: question }], []]);
    const call = answered?.parts.find(({ type }) => type === 'tool-call');
    assert.deepEqual([call?.name, JSON.parse(call?.text ?? '{}')], ['get_weather', { city: 'mock' }]);
    assert.deepEqual([answered?.from, answered?.role], ['answer', 'assistant']);
    assert.notEqual(answered?.finish, null);
  });
}

test('a text for a model of Ollama’s API is read as its system and its user', async () => {
  await keep({ of: 'account', name: 'dev' });
  for (const stream of [true, false]) {
    const json = { model: 'chat', prompt: 'A question', system: 'Be brief.', images: ['iVBORw0KGgo='], stream };
    const { conversation } = await shown(await ask('/api/generate', json));
    const [system, user, answered] = conversation!.turns;
    assert.deepEqual([system?.role, system?.parts[0]?.text], ['system', 'Be brief.']);
    assert.deepEqual(
      user?.parts.map(({ type, text, media }) => text ?? [type, media?.base64]),
      ['A question', ['image', 'iVBORw0KGgo=']],
    );
    assert.ok((answered?.parts[0]?.text?.length ?? 0) > 10);
    assert.equal(answered?.finish, 'stop');
    assert.deepEqual(
      conversation?.settings.map(({ name }) => name),
      ['stream'],
    );
  }
});

test('speech is kept as sound, a failure with its reason, and no credential', async () => {
  await keep({ of: 'account', name: 'dev' });
  const spoken = await ask('/v1/audio/speech', {
    model: 'say',
    input: 'Hello',
    voice: 'alloy',
    response_format: 'wav',
  });
  const [asked, said] = (await shown(spoken)).conversation!.turns;
  assert.equal(asked?.parts[0]?.text, 'Hello');
  assert.equal(said?.parts[0]?.type, 'audio');
  assert.equal(
    Buffer.from(said?.parts[0]?.media?.base64 ?? '', 'base64')
      .subarray(0, 4)
      .toString(),
    'RIFF',
  );

  upstream.script('*', ['always status=400;message=no such thing']);
  const failed = await ask('/v1/chat/completions', chat('my key is sk-proj-abcdefghijklmnop'));
  upstream.script('*', []);
  const { bodies } = await shown(failed);
  assert.match(bodies!.error!, /no such thing/);
  assert.ok(!bodies!.request.includes('abcdefghijklmnop'));
});

test('what a guard changes or refuses is not kept, and no search finds it', async () => {
  await keep({ of: 'account', name: 'dev' });
  for (const model of ['masks', 'blocks']) {
    const id = await ask('/v1/chat/completions', chat('Write to quoll@example.org', { model, stream: true }));
    const { bodies, conversation } = await shown(id);
    assert.match(bodies!.request, /withheld: a guard changed or refused this request/);
    assert.equal(conversation, null);
    assert.doesNotMatch(JSON.stringify(bodies), /quoll/);
    const untouched = await ask('/v1/chat/completions', chat('Write to the quokka', { model }));
    assert.match((await shown(untouched)).bodies!.request, /quokka/);
  }
  assert.equal((await admin<BodiesReply>('GET', '/bodies?text=quoll')).data.length, 0);
  assert.ok((await admin<BodiesReply>('GET', '/bodies?text=quokka')).data.length > 1);
});

test('pictures are shown with their prompt, by their bytes or their address', async () => {
  await keep({ of: 'account', name: 'dev' });
  for (const form of ['b64_json', 'url']) {
    const json = { model: 'draw', prompt: 'A wombat', n: 2, size: '16x16', response_format: form };
    const { conversation } = await shown(await ask('/v1/images/generations', json));
    const [asked, drawn] = conversation!.turns;
    assert.deepEqual([asked?.role, asked?.parts], ['user', [{ type: 'text', text: 'A wombat' }]]);
    assert.ok(conversation!.settings.some(({ name, value }) => name === 'n' && value === '2'));
    assert.deepEqual(
      drawn?.parts.map(({ type, media }) => [type, media?.type]),
      [
        ['image', 'image/png'],
        ['image', 'image/png'],
      ],
    );
    for (const { media } of drawn?.parts ?? []) {
      if (form === 'url') assert.match(media?.url ?? '', /^http/);
      else assert.match(media?.base64 ?? '', /^iVBOR/);
    }
  }
});

test('a text is found in what was asked and in what was streamed, page by page', async () => {
  await keep({ of: 'account', name: 'dev' });
  const first = await ask('/v1/chat/completions', chat('The platypus lays "eggs" daily'));
  for (let i = 0; i < 3; i++) await ask('/v1/chat/completions', chat(`filler ${i}`));
  const last = await ask('/v1/chat/completions', chat('Another PLATYPUS', { stream: true }));
  const find = (query: string) => admin<BodiesReply>('GET', `/bodies?${query}`);
  const found = await find('text=platypus');
  assert.deepEqual(
    found.data.map(({ request }) => request),
    [last, first],
  );
  assert.match(found.data[1]!.excerpt, /^The platypus lays "eggs" daily$/);
  assert.equal(found.data[0]!.key_label, 'dev/test');
  assert.equal((await find('text=platypus&account=other')).data.length, 0);
  const one = await find('text=platypus&limit=1');
  assert.equal(one.data.length, 1);
  const two = await find(`text=platypus&limit=1&cursor=${one.next_cursor}`);
  assert.deepEqual(
    two.data.map(({ request }) => request),
    [first],
  );
  // Words of a streamed answer, over the borders of its pieces.
  const answer = (await shown(last)).conversation!.turns.at(-1)!.parts[0]!.text!;
  const words = `"${answer.slice(2, 24)}"`;
  assert.ok((await find(`text=${encodeURIComponent(words)}`)).data.some(({ request }) => request === last));

  assert.ok((await admin<{ removed: number }>('DELETE', '/bodies?account=dev')).removed >= 5);
  assert.equal((await find('text=platypus')).data.length, 0);
  assert.equal((await shown(first)).bodies, null);
});

test('all words of a search must be there, in any order, and words in quotes side by side', async () => {
  await keep({ of: 'account', name: 'dev' });
  const id = await ask('/v1/chat/completions', chat('Your INVOICE is due: the date was Friday'));
  await ask('/v1/chat/completions', chat('Another invoice'));
  const found = async (text: string) => {
    const { data } = await admin<BodiesReply>('GET', `/bodies?text=${encodeURIComponent(text)}`);
    return data.map(({ request }) => request);
  };
  assert.deepEqual(await found('friday invoice'), [id]);
  // Parts of words too, as people type them.
  assert.deepEqual(await found('frid nvoic'), [id]);
  assert.deepEqual(await found('"invoice is due"'), [id]);
  assert.deepEqual(await found('"due invoice"'), []);
  assert.deepEqual(await found('invoice saturday'), []);
  assert.equal((await found('is')).includes(id), true);
  await admin('DELETE', '/bodies?account=dev');
});

test('rules that make no sense are refused with the field, and a second one replaces the first', async () => {
  const refusals: [object, string][] = [
    [{ of: 'key', name: 'key_none' }, 'key_none'],
    [{ of: 'account', name: 'nobody' }, 'nobody'],
    [{ of: 'model', name: 'none' }, 'name: '],
    [{ of: 'model', name: 'chat', reason: '  ' }, 'reason: '],
    [{ of: 'model', name: 'chat', until: '31d' }, 'until: '],
    [{ of: 'model', name: 'chat', until: '2020-01-01' }, 'until: '],
    [{ of: 'tag', name: 'x' }, 'of: '],
  ];
  for (const [rule, says] of refusals) {
    const refused = await keep(rule);
    assert.ok([400, 404].includes(refused.status), JSON.stringify(rule));
    assert.ok(refused.error?.message.includes(says), refused.error?.message);
  }
  await keep({ of: 'model', name: 'chat', until: '1h' });
  await keep({ of: 'model', name: 'chat', until: '3h', reason: 'longer' });
  const { data } = await admin<{ data: BodyRuleReply[] }>('GET', '/body-rules');
  assert.deepEqual(
    data.map(({ name, reason }) => [name, reason]),
    [['chat', 'longer']],
  );
  assert.equal((await admin('DELETE', '/body-rules/br_none')).status, 404);
  assert.equal((await admin('GET', '/bodies?cursor=1')).status, 400);
});

test('an operator of some accounts sees and keeps only theirs', async () => {
  const made = await admin<{ secret: string; key: string }>('POST', '/operators', {
    name: 'bo',
    role: 'admin',
    accounts: ['other'],
  });
  const own = made.secret ?? made.key;
  await keep({ of: 'account', name: 'dev' });
  const id = await ask('/v1/chat/completions', chat('secret of dev'));
  assert.equal((await admin<{ data: unknown[] }>('GET', '/body-rules', undefined, own)).data.length, 0);
  assert.equal((await admin<BodiesReply>('GET', '/bodies?text=secret', undefined, own)).data.length, 0);
  assert.equal((await admin('GET', `/requests/${id}`, undefined, own)).status, 404);
  assert.equal((await admin('POST', '/body-rules', { of: 'account', name: 'dev', reason: 'x' }, own)).status, 404);
  assert.equal((await admin('POST', '/body-rules', { of: 'model', name: 'chat', reason: 'x' }, own)).status, 403);
  assert.equal((await admin('POST', '/body-rules', { of: 'account', name: 'other', reason: 'x' }, own)).status, 201);
});

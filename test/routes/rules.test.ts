import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { checkConfigText } from '../../src/config/check.ts';
import { callAdmin } from '../call-admin.ts';
import { wavOf } from '../scripted-transcriber.ts';
import { startGateway, type TestGateway, workersKnow } from '../start-gateway.ts';
import { startQuietUpstream } from '../steps/quiet-upstream.ts';

/** Rules for routes over HTTP: each condition, each effect, every family. */
const upstream = await startQuietUpstream();
after(upstream.close);
const provider = { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' };
const types = ['embedding', 'transcription', 'image', 'rerank', 'moderation', 'speech'] as const;
const chatKey = 'sk-cv-routes-free-0001';
const base = {
  providers: { up: provider, eu: provider },
  models: {
    smart: { targets: ['up/big'], fallbacks: ['cheap'] },
    cheap: { targets: ['up/small'], cost: 0.5 },
    mid: { targets: ['up/mid', 'eu/mid'] },
    hidden: { targets: ['up/hidden'] },
    ...Object.fromEntries(types.map((type) => [type, { type, targets: [`up/${type}`] }])),
    ...Object.fromEntries(types.map((type) => [`${type}-2`, { type, targets: [`up/${type}-2`] }])),
  },
  plans: {
    default: { windows: 'off', rpm: 'off' },
    free: { windows: 'off', rpm: 'off', models: ['smart', 'cheap'] },
    paid: { windows: 'off', rpm: 'off', budget: { month: 100 } },
    spent: { windows: { '5h': 4 }, rpm: 'off' },
  },
  accounts: { poor: { plan: 'free' }, rich: { plan: 'paid' }, four: { plan: 'spent' }, five: { plan: 'spent' } },
  keys: [
    { key: 'sk-cv-test-key-0001', account: 'dev', name: 'test' },
    { key: chatKey, account: 'poor', name: 'laptop' },
    { key: 'sk-cv-routes-rich-0001', account: 'rich', name: 'r' },
    { key: 'sk-cv-routes-four-0001', account: 'four', name: 'f' },
    { key: 'sk-cv-routes-five-0001', account: 'five', name: 'v' },
  ],
};
const gateway = await startGateway({ after } as TestContext, base);

const user = (content: unknown) => [{ role: 'user', content }];
const hello = { model: 'smart', messages: user('Hello') };

interface Sent {
  status: number;
  model: string | null;
  body: Record<string, unknown> & { error?: { message: string; type: string } };
  sent: Record<string, unknown>;
  id: string;
}

async function ask(
  {
    json = hello,
    path = '/v1/chat/completions',
    headers = {},
    key,
  }: {
    json?: object;
    path?: string;
    headers?: Record<string, string>;
    key?: string;
  } = {},
  on: TestGateway = gateway,
): Promise<Sent> {
  upstream.bodies.length = 0;
  const init = { json, headers: { ...headers, ...(key !== undefined && { authorization: `Bearer ${key}` }) } };
  const response = await on.fetch(path, init);
  const text = await response.text();
  return {
    status: response.status,
    model: response.headers.get('x-culvert-model'),
    body: text.startsWith('{') ? JSON.parse(text) : {},
    sent: upstream.bodies[0] === undefined ? {} : JSON.parse(upstream.bodies[0]),
    id: response.headers.get('x-culvert-request-id') ?? '',
  };
}

const rules = (routes: Record<string, unknown>) => gateway.reload({ ...base, routes });

interface Recorded {
  route: {
    rules?: { applied: string[]; passed: { rule: string; because: string }[]; passedMore?: number };
    verdicts: { verdict: string }[];
  };
  alias: string;
  model: string;
  tag: string | null;
  units: number;
}
async function recordOf(id: string): Promise<Recorded> {
  for (;;) {
    const { status, body } = await callAdmin<Recorded>(gateway, 'GET', `/requests/${id}`);
    if (status === 200) return body;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object' } } };
const german = 'Ich möchte wissen, ob das Wetter in Berlin morgen schön ist und was man dort machen kann.';
const picture = [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }];

/** Requests that a condition is true of, and one that it is not true of. */
const conditions: Record<string, { yes: Parameters<typeof ask>[0]; no: Parameters<typeof ask>[0] }> = {
  'model == "smart"': { yes: {}, no: { json: { ...hello, model: 'mid' } } },
  'endpoint == "messages"': {
    yes: { path: '/v1/messages', json: { ...hello, max_tokens: 9 } },
    no: {},
  },
  'headers["X-Team"] == "core"': { yes: { headers: { 'x-team': 'core' } }, no: {} },
  '"x-team" in headers && headers["x-team"].matches("^c(o+)re$")': {
    yes: { headers: { 'x-team': 'cooore' } },
    no: { headers: { 'x-team': 'score' } },
  },
  'tag == "batch"': { yes: { headers: { 'x-culvert-tag': 'batch' } }, no: {} },
  'user == "u-1"': { yes: { json: { ...hello, user: 'u-1' } }, no: { json: { ...hello, user: 'u-2' } } },
  'account == "poor"': { yes: { key: chatKey }, no: {} },
  'key == "poor/laptop" && key_name == "laptop"': { yes: { key: chatKey }, no: {} },
  'plan in ["free", "trial"]': { yes: { key: chatKey }, no: {} },
  'tokens > 1000': { yes: { json: { ...hello, messages: user('word '.repeat(2_000)) } }, no: {} },
  'max_tokens >= 100': { yes: { json: { ...hello, max_tokens: 100 } }, no: {} },
  tools: { yes: { json: { ...hello, tools: [tool] } }, no: {} },
  stream: { yes: { json: { ...hello, stream: true } }, no: {} },
  '"image" in media': { yes: { json: { ...hello, messages: user(picture) } }, no: {} },
  'media.exists(m, m == "image")': { yes: { json: { ...hello, messages: user(picture) } }, no: {} },
  'language == "de"': { yes: { json: { ...hello, messages: user(german) } }, no: {} },
  'language == "ja"': {
    yes: { json: { ...hello, messages: user('四半期報告書の短い要約を書いてください。取締役会のために必要です。') } },
    no: { json: { ...hello, messages: user(german) } },
  },
  'budget_left > 0.9 && plan == "paid"': { yes: { key: 'sk-cv-routes-rich-0001' }, no: {} },
  'account == "poor" ? tokens > 0 : tools': { yes: { key: chatKey }, no: {} },
  'size(headers["x-team"]) == 4': { yes: { headers: { 'x-team': 'core' } }, no: { headers: { 'x-team': 'cores' } } },
  'headers["x-team"].trim().upperAscii() == "CORE"': { yes: { headers: { 'x-team': 'Core' } }, no: {} },
  // ASCII's letters alone, as CEL has it.
  'user.lowerAscii() == "Änne"': {
    yes: { json: { ...hello, user: 'ÄNNE' } },
    no: { json: { ...hello, user: 'änne' } },
  },
  'headers["x-team"].endsWith("re") && headers["x-team"].contains("or")': {
    yes: { headers: { 'x-team': 'core' } },
    no: { headers: { 'x-team': 'care' } },
  },
  'max_tokens + 1 == 10 && max_tokens - 1 != 7 && max_tokens * 2 <= 18': {
    yes: { json: { ...hello, max_tokens: 9 } },
    no: { json: { ...hello, max_tokens: 10 } },
  },
  'headers["x-team"] + "/" + user == "core/u-1"': {
    yes: { headers: { 'x-team': 'core' }, json: { ...hello, user: 'u-1' } },
    no: { headers: { 'x-team': 'core' } },
  },
  'size(media) == 1 && !("audio" in media)': { yes: { json: { ...hello, messages: user(picture) } }, no: {} },
};

for (const [when, { yes, no }] of Object.entries(conditions)) {
  test(`a rule moves requests of which its condition is true: ${when}`, async () => {
    await rules({ one: { when, model: 'cheap' } });
    const moved = await ask(yes);
    assert.equal(moved.status, 200, JSON.stringify(moved.body));
    assert.equal(moved.sent.model, 'small');
    const { route } = await recordOf(moved.id);
    assert.deepEqual(route.rules, { applied: ['one'], passed: [] });
    const stays = await ask(no);
    assert.equal(stays.status, 200);
    assert.notEqual(stays.sent.model, 'small');
    const passed = (await recordOf(stays.id)).route.rules;
    assert.deepEqual(passed?.applied, []);
    assert.equal(passed?.passed[0]?.rule, 'one');
    assert.ok(when.includes(passed?.passed[0]?.because ?? '?'));
  });
}

for (const [when, message] of [
  ['tokens / 2 > 3', /the operator \/ is not available in conditions/],
  ['tokens % 2 == 0', /the operator % is not available in conditions/],
  ['now.getSeconds() == 1', /now\.getSeconds\(\) is not available in conditions/],
  ['timeOfDay("Mars/Base") > "08:00"', /expected a time zone in quotes/],
  ['headers["Authorization"] == "x"', /the header authorization holds secrets, and no condition sees it/],
  ['media[0] == "image"', /only headers have members/],
  ['media.exists(m, media.all(n, n == m))', /exists and all cannot be inside one another/],
  ['model.matches(user)', /matches\(\) takes a pattern in quotes/],
  ['model.matches("(a")', /this is no regular expression of RE2/],
  ['tokens + 1', /expected a condition that is true or false/],
] as const) {
  test(`a configuration names what conditions lack: ${when}`, () => {
    const checked = checkConfigText(
      JSON.stringify({ ...base, routes: { one: { when, model: 'cheap' } } }),
      'c.yaml',
      {},
    );
    assert.ok(!checked.ok);
    const [error] = checked.errors;
    assert.match(`${error!.path}: ${error!.message}`, message);
    assert.match(error!.path, /^routes\.one\.when/);
  });
}

test('a condition knows the time of a zone', async () => {
  const hours = (zone: string) =>
    new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', hourCycle: 'h23' }).format(new Date());
  const before = hours('Asia/Tokyo');
  await rules({
    now: {
      when: `timeOfDay("Asia/Tokyo") >= "${before}:00" && now.getHours("Asia/Tokyo") == ${Number(before)}`,
      model: 'cheap',
    },
  });
  const { sent } = await ask();
  if (hours('Asia/Tokyo') === before) assert.equal(sent.model, 'small');
});

test('a condition knows the day and the minute, as CEL counts them', async () => {
  const conditionAt = (date: Date) =>
    Object.entries({
      getFullYear: date.getUTCFullYear(),
      getMonth: date.getUTCMonth(),
      getDate: date.getUTCDate(),
      getDayOfMonth: date.getUTCDate() - 1,
      getDayOfWeek: date.getUTCDay(),
      getHours: date.getUTCHours(),
      getMinutes: date.getUTCMinutes(),
    })
      .map(([name, value]) => `now.${name}() == ${value}`)
      .join(' && ');
  const when = conditionAt(new Date());
  await rules({ now: { when, model: 'cheap' } });
  const { sent } = await ask();
  if (conditionAt(new Date()) === when) assert.equal(sent.model, 'small');
});

test('what a condition cannot tell is false, never an error', async () => {
  await rules({
    a: { when: 'headers["x-none"] == "a"', model: 'cheap' },
    b: { when: 'headers["x-none"] != "a"', model: 'cheap' },
    c: { when: 'int(headers["x-number"]) > 3', model: 'cheap' },
    d: { when: '!(headers["x-none"].startsWith("a"))', model: 'cheap' },
  });
  for (const value of ['four', '', '\u00e4', 'NaN', `${'9'.repeat(400)}x`]) {
    const { status, sent } = await ask({ headers: { 'x-number': value } });
    assert.equal(status, 200);
    assert.equal(sent.model, 'big');
  }
  assert.equal((await ask({ headers: { 'x-number': '4' } })).sent.model, 'small');
});

test('rules run by their order, and the first that applies ends it', async () => {
  await rules({
    last: { order: 9, tag: 'last' },
    first: { order: -1, when: 'model == "none"', model: 'mid' },
    second: { when: 'model == "smart"', model: 'cheap' },
    off: { order: -5, enabled: false, refuse: { message: 'No.' } },
  });
  const { id, sent } = await ask();
  assert.equal(sent.model, 'small');
  const { route, tag } = await recordOf(id);
  assert.equal(tag, null);
  assert.deepEqual(route.rules, { applied: ['second'], passed: [{ rule: 'first', because: 'model == "none"' }] });
});

test('a record names twenty of the rules that did not apply, and says how many more there were', async () => {
  const others = Array.from({ length: 30 }, (_, at) => [
    `rule-${at}`,
    { order: at, when: 'model == "none"', tag: 'x' },
  ]);
  await rules({ ...Object.fromEntries(others), last: { order: 99, model: 'cheap' } });
  const { id } = await ask();
  const { passed, passedMore } = (await recordOf(id)).route.rules ?? { passed: [] };
  assert.deepEqual([passed.length, passedMore], [20, 10]);
});

test('a rule with continue lets later ones add what it does not set', async () => {
  await rules({
    tags: { continue: true, tag: 'team-a', parameters: { temperature: 0.5 } },
    later: { continue: true, tag: 'other', parameters: { temperature: 1, max_tokens: 77 } },
    model: { model: 'cheap' },
    never: { model: 'mid' },
  });
  const { id, sent } = await ask({ json: { ...hello, temperature: 0.1, max_tokens: 5 } });
  assert.equal(sent.model, 'small');
  assert.equal(sent.temperature, 0.5);
  assert.equal(sent.max_completion_tokens ?? sent.max_tokens, 77);
  const { route, tag } = await recordOf(id);
  assert.equal(tag, 'team-a');
  assert.deepEqual(route.rules?.applied, ['tags', 'later', 'model']);
});

test('an operator may move a request out of its plan, a caller may not, and the served model is charged', async () => {
  await rules({ out: { when: 'model == "smart"', model: 'hidden' } });
  const own = await ask({ key: chatKey, json: { ...hello, model: 'hidden' } });
  assert.equal(own.status, 403);
  const moved = await ask({ key: chatKey });
  assert.equal(moved.status, 200, JSON.stringify(moved.body));
  assert.equal(moved.sent.model, 'hidden');
  // Of a model that the plan lacks, a rule leads only to models that it has.
  await rules({ in: { when: 'model == "mid"', model: 'cheap' }, out: { when: 'model == "hidden"', model: 'mid' } });
  const cheap = await ask({ key: chatKey, json: { ...hello, model: 'mid' } });
  assert.equal(cheap.sent.model, 'small');
  assert.equal((await recordOf(cheap.id)).units, 0.5);
  assert.equal((await ask({ key: chatKey, json: { ...hello, model: 'hidden' } })).status, 403);
  // A name that nobody has may be a rule's own.
  await rules({ named: { when: 'model == "auto-fast"', model: 'cheap' } });
  assert.equal((await ask({ json: { ...hello, model: 'auto-fast' } })).sent.model, 'small');
});

test('a rule keeps some of the targets of a model, and says what is left out', async () => {
  await rules({ eu: { when: 'model == "mid" || model == "smart"', targets: ['eu'] } });
  for (let at = 0; at < 6; at += 1) {
    const { id, status } = await ask({ json: { ...hello, model: 'mid' } });
    assert.equal(status, 200);
    const { route } = await recordOf(id);
    const verdict = route.verdicts.find((one) => 'target' in one && one.target === 'up/mid');
    assert.equal(verdict?.verdict, 'not allowed: rule eu');
  }
  const none = await ask();
  assert.equal(none.status, 403);
  assert.match(none.body.error?.message ?? '', /The rule 'eu' of this server lets none of the targets/);
});

test('a ladder takes its step by size, and by what is left', async () => {
  await rules({
    size: { ladder: { by: 'tokens', steps: [{ at_most: 200, model: 'cheap' }, { model: 'mid' }] } },
  });
  assert.equal((await ask()).sent.model, 'small');
  assert.equal((await ask({ json: { ...hello, messages: user('word '.repeat(2_000)) } })).sent.model, 'mid');
  await rules({
    units: {
      when: 'plan == "spent"',
      ladder: {
        by: 'units_left',
        steps: [{ at_least: 0.7, model: 'smart' }, { at_least: 0.3, model: 'mid' }, { model: 'cheap' }],
      },
    },
  });
  const models: unknown[] = [];
  for (let at = 0; at < 4; at += 1) models.push((await ask({ key: 'sk-cv-routes-four-0001' })).sent.model);
  assert.deepEqual(models, ['big', 'big', 'mid', 'small']);
});

test('a rule refuses with its own status and words in the form of each format, for nothing', async () => {
  await rules({ stop: { when: 'headers["x-stop"] == "1"', refuse: { message: 'Not at night.', status: 429 } } });
  const headers = { 'x-stop': '1' };
  const chat = await ask({ headers });
  assert.equal(chat.status, 429);
  assert.equal(chat.body.error?.message, "Not at night. (rule 'stop')");
  assert.equal(chat.body.error?.type, 'rate_limit_error');
  assert.equal(upstream.bodies.length, 0);
  const messages = await ask({ headers, path: '/v1/messages', json: { ...hello, max_tokens: 9 } });
  assert.equal(messages.status, 429);
  assert.equal(messages.body.type, 'error');
  const gemini = await ask({
    headers,
    path: '/v1beta/models/smart:generateContent',
    json: { contents: [{ role: 'user', parts: [{ text: 'x' }] }] },
  });
  assert.equal(gemini.status, 429);
  assert.equal(typeof (gemini.body.error as unknown as { status: string }).status, 'string');
  const stream = await ask({ headers, json: { ...hello, stream: true } });
  assert.equal(stream.status, 429);
  // Tools and the vector store have no model, and can be refused as well.
  const scrape = await ask({ headers, path: '/v1/tools/scrape', json: { url: 'http://127.0.0.1:1/' } });
  assert.equal(scrape.status, 429);
});

const formats: Record<string, { path: string; json: object }> = {
  chat: { path: '/v1/chat/completions', json: hello },
  'streamed chat': { path: '/v1/chat/completions', json: { ...hello, stream: true } },
  messages: { path: '/v1/messages', json: { ...hello, max_tokens: 9 } },
  responses: { path: '/v1/responses', json: { model: 'smart', store: false, input: 'x' } },
  gemini: {
    path: '/v1beta/models/smart:generateContent',
    json: { contents: [{ role: 'user', parts: [{ text: 'x' }] }] },
  },
  'streamed gemini': {
    path: '/v1beta/models/smart:streamGenerateContent?alt=sse',
    json: { contents: [{ role: 'user', parts: [{ text: 'x' }] }] },
  },
  ollama: { path: '/api/chat', json: { ...hello, stream: false } },
  cohere: { path: '/v2/chat', json: hello },
};

test('conversations of all formats are moved, with parameters in place of their own', async () => {
  await rules({ one: { model: 'cheap', parameters: { temperature: 0.25 } } });
  for (const [format, { path, json }] of Object.entries(formats)) {
    const { status, sent, body } = await ask({ path, json });
    assert.equal(status, 200, `${format}: ${JSON.stringify(body)}`);
    assert.equal(sent.model, 'small', format);
    assert.equal(sent.temperature, 0.25, format);
  }
});

test('all other families are moved too', async () => {
  await rules(Object.fromEntries(types.map((type) => [type, { when: `model == "${type}"`, model: `${type}-2` }])));
  const cases: Record<string, { path: string; json: object }> = {
    embedding: { path: '/v1/embeddings', json: { model: 'embedding', input: ['x'] } },
    rerank: { path: '/v1/rerank', json: { model: 'rerank', query: 'x', documents: ['x'] } },
    moderation: { path: '/v1/moderations', json: { model: 'moderation', input: 'x' } },
    image: { path: '/v1/images/generations', json: { model: 'image', prompt: 'x' } },
    'embedding of gemini': {
      path: '/v1beta/models/embedding:embedContent',
      json: { content: { parts: [{ text: 'x' }] } },
    },
  };
  for (const [name, { path, json }] of Object.entries(cases)) {
    const { sent, body, status } = await ask({ path, json });
    assert.equal(status, 200, `${name}: ${JSON.stringify(body)}`);
    assert.equal(sent.model, `${name.split(' ')[0]}-2`, name);
  }
  upstream.bodies.length = 0;
  const form = new FormData();
  form.append('model', 'transcription');
  form.append('file', new File([wavOf(1, 16_000)], 'a.wav', { type: 'audio/wav' }));
  const heard = await gateway.fetch('/v1/audio/transcriptions', { method: 'POST', body: form });
  assert.equal(heard.status, 200, await heard.text());
  assert.match(upstream.bodies[0] ?? '', /transcription-2/);
  // The upstream speaks nothing, so that the refusal names the model that was asked.
  await ask({ path: '/v1/audio/speech', json: { model: 'speech', input: 'x', voice: 'alloy' } });
  assert.equal((JSON.parse(upstream.bodies[0] ?? '{}') as { model?: string }).model, 'speech-2');
});

test('a large body is moved off the loop, and its stream comes whole', async () => {
  await rules({ big: { when: 'tokens > 100000 && language == "en"', model: 'cheap' } });
  const words = 'the quick fox and the lazy dog are friends of that old man who was with them. '.repeat(20_000);
  const { status, sent } = await ask({ json: { ...hello, messages: user(words), stream: true } });
  assert.equal(status, 200);
  assert.equal(sent.model, 'small');
  assert.equal(JSON.stringify(sent.messages), JSON.stringify(user(words)));
});

test('hostile headers reach no secret, no prototype and no error', async () => {
  await rules({
    a: { when: 'headers["__proto__"] == "x" || headers["constructor"] == "x"', model: 'cheap' },
    b: { when: 'headers[headers["x-name"]] == headers["x-value"]', model: 'cheap' },
    c: { when: 'headers["x-many"] == "a, b"', model: 'mid' },
  });
  const secret = await ask({ headers: { 'x-name': 'authorization', 'x-value': 'Bearer sk-cv-test-key-0001' } });
  assert.equal(secret.sent.model, 'big');
  for (const name of ['__proto__', 'constructor', 'toString', '']) {
    assert.equal((await ask({ headers: { 'x-name': name, 'x-value': '' } })).status, 200);
  }
  assert.equal((await ask({ headers: { 'x-many': 'a, b' } })).sent.model, 'mid');
});

test('rules come before variants and guards, and after prompts', async () => {
  await gateway.reload({
    ...base,
    models: {
      ...base.models,
      tried: { targets: ['up/t'], variants: { only: { targets: ['up/variant'] } }, guards: ['no'] },
    },
    guards: { no: { check: 'words', words: ['forbidden'], action: 'block' } },
    prompts: { kind: { messages: [{ role: 'system', content: 'Be kind.' }], model: 'smart' } },
    routes: { one: { when: 'model == "smart"', model: 'tried' } },
  });
  const { sent, status } = await ask({ json: { model: 'prompt/kind', messages: user('Hello') } });
  assert.equal(status, 200);
  assert.equal(sent.model, 'variant');
  assert.match(JSON.stringify(sent), /Be kind/);
  const blocked = await ask({ json: { ...hello, messages: user('forbidden') } });
  assert.equal(blocked.status, 400);
});

test('a count of tokens goes by the rules of the request that would follow it', async () => {
  await rules({
    tools: { when: 'tools || "image" in media', refuse: { message: 'No tools.', status: 451 } },
    long: { when: 'endpoint == "messages" && tokens > 100000', refuse: { message: 'Too long.', status: 413 } },
    auto: { when: 'model == "auto"', model: 'smart' },
  });
  const count = async (path: string, json: object) => (await ask({ path, json: { model: 'auto', ...json } })).status;
  const messages = user('Hello');
  assert.equal(await count('/v1/messages/count_tokens', { messages }), 200);
  assert.equal(await count('/v1/responses/input_tokens', { input: 'Hello' }), 200);
  assert.equal(await count('/v1beta/models/auto:countTokens', { contents: [{ parts: [{ text: 'Hello' }] }] }), 200);
  assert.equal(
    await count('/v1/messages/count_tokens', { messages, tools: [{ name: 'f', input_schema: { type: 'object' } }] }),
    451,
  );
  const large = user('words '.repeat(400_000));
  assert.equal(await count('/v1/messages/count_tokens', { messages: large }), 413);
  await rules({ auto: { when: 'model == "auto"', model: 'smart' } });
  assert.equal(await count('/v1/messages/count_tokens', { messages: large }), 200, 'in the thread that counts');
  await rules({});
  assert.equal(await count('/v1/messages/count_tokens', { messages }), 404);
});

test('a retry with its Idempotency-Key gets the answer of its first way, whatever rules say by then', async () => {
  const headers = { 'idempotency-key': 'routes-1' };
  await rules({ one: { model: 'cheap' } });
  const first = await ask({ headers });
  assert.equal(first.sent.model, 'small');
  await rules({ one: { model: 'mid' } });
  const again = await ask({ headers });
  assert.equal(again.status, 200);
  assert.deepEqual(again.sent, {}, 'nobody was asked');
});

test('the cache keeps answers of the model that is served', async () => {
  const models = { ...base.models, kept: { targets: ['up/kept'], cache: { ttl: '1h', tool_calls: true } } };
  await gateway.reload({ ...base, models, routes: { one: { when: 'model == "smart"', model: 'kept' } } });
  const json = { ...hello, messages: user('A question to be kept') };
  assert.equal((await ask({ json })).sent.model, 'kept');
  await workersKnow();
  const hit = await ask({ json: { ...json, model: 'kept' } });
  assert.equal(hit.status, 200);
  assert.deepEqual(hit.sent, {}, 'the same answer, by the name of the model itself');
});

test('requests that run while rules change each go one way', async () => {
  await rules({ one: { model: 'cheap' } });
  const asked = Array.from({ length: 20 }, () => gateway.fetch('/v1/chat/completions', { json: hello }));
  await rules({ two: { model: 'mid' } });
  for (const response of await Promise.all(asked)) {
    assert.equal(response.status, 200);
    assert.ok(['small', 'mid'].includes(response.headers.get('x-culvert-model') ?? ''));
    await response.body?.cancel();
  }
});

test('explain says which rule applies, and why those before it do not', async () => {
  await rules({
    a: { when: 'plan == "free" && tokens > 5', model: 'mid' },
    b: { when: 'headers["x-team"] == "core"', model: 'cheap' },
    c: { refuse: { message: 'No.' } },
  });
  const body = { endpoint: 'chat', body: hello, headers: { 'X-Team': 'core' } };
  interface Explained {
    model: string;
    rules: object;
    error: { message: string; code: number } | null;
  }
  const { body: said } = await callAdmin<Explained>(gateway, 'POST', '/explain', body);
  assert.equal(said.model, 'cheap');
  assert.deepEqual(said.rules, { applied: ['b'], passed: [{ rule: 'a', because: 'plan == "free"' }] });
  const { body: refused } = await callAdmin<Explained>(gateway, 'POST', '/explain', { ...body, headers: {} });
  assert.equal(refused.error?.code, 403);
  assert.match(refused.error?.message ?? '', /rule 'c'/);
  const embeddings = { endpoint: 'embeddings', body: { model: 'embedding', input: 'x' }, headers: body.headers };
  const { body: other } = await callAdmin<Explained>(gateway, 'POST', '/explain', embeddings);
  assert.equal(other.model, 'cheap');
  assert.deepEqual(other.rules, said.rules);
  await rules({ g: { when: 'language == "de"', model: 'cheap' } });
  for (const [words, model] of [
    [german, 'cheap'],
    ['The weather is fine and the people are friends of that man.', 'smart'],
  ] as const) {
    const question = { endpoint: 'chat', body: { ...hello, messages: user(words) } };
    assert.equal((await callAdmin<Explained>(gateway, 'POST', '/explain', question)).body.model, model);
  }
});

test('explain goes by what is left of the limits of the key', async () => {
  await rules({ low: { when: 'units_left < 0.9', model: 'cheap' } });
  const key = 'sk-cv-declared:five/v';
  const explained = async () => {
    const order = { endpoint: 'chat', key, body: hello };
    return (await callAdmin<{ model: string }>(gateway, 'POST', '/explain', order)).body.model;
  };
  assert.equal(await explained(), 'smart');
  assert.equal((await ask({ key: 'sk-cv-routes-five-0001' })).status, 200);
  assert.equal(await explained(), 'cheap');
});

test('a caller reads which rules applied to its request, and no condition', async () => {
  await rules({ a: { when: 'account == "secret-customer"', model: 'mid' }, b: { model: 'cheap' } });
  const { id } = await ask();
  await recordOf(id);
  const own = (await (await gateway.fetch(`/v1/requests/${id}`)).json()) as { route: { rules: object } };
  assert.deepEqual(own.route.rules, { applied: ['b'] });
});

test('without rules a record has none, and lines of batches go by them too', async () => {
  await gateway.reload(base);
  const { id } = await ask();
  assert.equal((await recordOf(id)).route.rules, undefined);
  await rules({ one: { when: 'tag == "t"', model: 'cheap' } });
  const form = new FormData();
  const line = {
    custom_id: 'a',
    method: 'POST',
    url: '/v1/chat/completions',
    body: { ...hello, metadata: { tag: 't' } },
  };
  form.append('purpose', 'batch');
  form.append('file', new File([JSON.stringify(line)], 'lines.jsonl'));
  const file = (await (await gateway.fetch('/v1/files', { method: 'POST', body: form })).json()) as { id: string };
  upstream.bodies.length = 0;
  const begun = await gateway.fetch('/v1/batches', {
    json: { input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' },
  });
  const { id: batch } = (await begun.json()) as { id: string };
  for (;;) {
    const now = (await (await gateway.fetch(`/v1/batches/${batch}`)).json()) as { status: string };
    if (now.status === 'completed') break;
    assert.ok(!['failed', 'expired'].includes(now.status), now.status);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.equal((JSON.parse(upstream.bodies[0] ?? '{}') as { model: string }).model, 'small');
});

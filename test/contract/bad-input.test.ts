import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterEach, test } from 'node:test';
import { packings } from '../packings.ts';
import { answerTo, answerUntilClosed } from '../send-bytes.ts';
import { testKey } from '../start-gateway.ts';
import { badParameters } from './bad-parameters.ts';
import { asked, chatPath, type ErrorBody, hello, serve } from './served.ts';

// Over a provider of another format: one of the caller's own judges most of it itself (vendor-judges.test.ts).
const { gateway, upstream } = await serve((url) => ({
  server: { body_limit: '2mb' },
  models: { chat: { targets: ['elsewhere/mock/ok'] }, other: { targets: ['openai/mock/ok'] } },
  providers: {
    elsewhere: { type: 'anthropic', base_url: `${url}/v1`, api_key: 'upstream-secret' },
    openai: { type: 'openai', base_url: `${url}/v1`, api_key: 'upstream-secret' },
  },
}));

/** Sends a body unchanged and expects a refusal: nothing forwarded, nothing charged. */
async function refused(body: string | Buffer, headers: Record<string, string> = {}) {
  const response = await gateway.fetch(chatPath, {
    method: 'POST',
    body: body as string,
    headers: { 'content-type': 'application/json', ...headers },
  });
  const { error } = (await response.json()) as ErrorBody;
  const record = await gateway.fetch(`/v1/requests/${response.headers.get('x-culvert-request-id')}`);
  // Not every one of many refusals in a second is kept.
  if (record.status !== 404) {
    const { units, cost_usd, usage } = (await record.json()) as {
      units: number;
      cost_usd: null;
      usage: { source: string };
    };
    assert.deepEqual([units, cost_usd, usage.source], [0, null, 'refused'], 'no charge');
  }
  return { status: response.status, error };
}

afterEach(() => assert.deepEqual(asked(upstream), [], 'nothing was forwarded'));

for (const [name, wrongs] of Object.entries(badParameters)) {
  test(`every wrong type, bound and combination of '${name}' is 400 naming the field`, async () => {
    for (const { value, beside, names = name } of wrongs) {
      const { status, error } = await refused(JSON.stringify({ ...hello, ...beside, [name]: value }));
      const what = JSON.stringify(value)?.slice(0, 80);
      assert.equal(status, 400, what);
      assert.deepEqual([error.param, error.type, error.code], [names, 'invalid_request_error', 400], what);
      assert.ok(error.message.includes(names), error.message);
      assert.ok(error.message.length < 500);
    }
  });
}

/** Parameters of the published description that are objects or enumerations which only some providers know. */
const passedOn = new Set(['prompt_cache_retention', 'prompt_cache_options', 'moderation']);

test("the table has every parameter of OpenAI's published description", () => {
  const { components } = JSON.parse(readFileSync(new URL('../spec/openai-openapi.json', import.meta.url), 'utf8')) as {
    components: { schemas: Record<string, Schema> };
  };
  interface Schema {
    $ref?: string;
    allOf?: Schema[];
    properties?: Record<string, unknown>;
  }
  const named = (schema: Schema): string[] => [
    ...(schema.$ref === undefined ? [] : named(components.schemas[schema.$ref.split('/').at(-1)!]!)),
    ...Object.keys(schema.properties ?? {}),
    ...(schema.allOf ?? []).flatMap(named),
  ];
  const missing = named(components.schemas.CreateChatCompletionRequest!).filter(
    (name) => !(name in badParameters) && !passedOn.has(name),
  );
  assert.deepEqual(missing, []);
});

test("bytes with 'data:' before them are 400 naming the field, in each format", async () => {
  const data = 'data:image/png;base64,iVBORw0KGgo=';
  const source = { type: 'base64', media_type: 'image/png', data };
  const said = (part: object) => [{ role: 'user', content: [part] }];
  const sound = { type: 'input_audio', input_audio: { data, format: 'wav' } };
  for (const [path, json, field] of [
    [chatPath, { model: 'chat', messages: said(sound) }, 'messages[0].content[0].input_audio.data'],
    ['/v1/responses', { model: 'chat', input: said(sound) }, 'input[0].content[0].input_audio.data'],
    [
      '/v1/messages',
      { model: 'other', max_tokens: 9, messages: said({ type: 'image', source }) },
      'messages[0].content[0].source.data',
    ],
    [
      '/v1beta/models/other:generateContent',
      { contents: [{ parts: [{ inlineData: { mimeType: 'image/png', data } }] }] },
      'contents[0].parts[0].inlineData.data',
    ],
  ] as const) {
    const answer = await gateway.fetch(path, { json });
    const text = await answer.text();
    assert.equal(answer.status, 400, text);
    assert.ok(text.includes(field) && text.includes("without 'data:…;base64,' before them"), text);
  }
});

test('a call of a custom tool without its input is 400 naming the field', async () => {
  for (const [custom, param] of [
    [{ name: 'run' }, 'messages[0].tool_calls[0].custom.input'],
    [{ input: 'x' }, 'messages[0].tool_calls[0].custom.name'],
    ['run', 'messages[0].tool_calls[0].custom'],
  ] as const) {
    const messages = [{ role: 'assistant', tool_calls: [{ id: 'c', type: 'custom', custom }] }];
    const { status, error } = await refused(JSON.stringify({ ...hello, messages }));
    assert.deepEqual([status, error.param], [400, param], error.message);
  }
});

test('null stands for absent, but not for model and messages', async () => {
  for (const name of ['model', 'messages']) {
    const { status, error } = await refused(JSON.stringify({ ...hello, [name]: null }));
    assert.deepEqual([status, error.param], [400, name]);
  }
});

const malformed = [
  '',
  ' ',
  '{',
  '{"model"',
  '{"model":}',
  "{'model':'chat'}",
  '{"model":"chat",}',
  'null',
  '[]',
  '"x"',
  '5',
  'true',
  'NaN',
  '{"model":NaN}',
  '{"model":"chat"} x',
  '{}\ufeff',
  '{"a":01}',
  '{"a":"\t"}',
  'model=chat',
  '<xml/>',
  '\0',
  '{"model":"chat","messages":[{"role":"user","content":"a\\u00"}]}',
];
for (const body of malformed) {
  test(`malformed JSON is 400: ${JSON.stringify(body).slice(0, 40)}`, async () => {
    const { status, error } = await refused(body);
    assert.deepEqual([status, error.type], [400, 'invalid_request_error']);
    assert.match(error.message, /not valid JSON|must be a JSON object/);
  });
}

for (const [body, where] of [
  ['', 'it is empty'],
  ['{"model":', 'it ends too early'],
  ['{"model": "sim/chat", "messages": [{"role": "user"', 'it ends too early'],
  ['{"model":"cha', 'it ends inside a string'],
  ["{'model':'chat'}", 'unexpected character at position 1'],
  ['{"stream":True}', "unexpected 'T'"],
  ['{"stream":undefined}', "unexpected 'u'"],
  ['model=chat', "unexpected 'm'"],
  ['{"a":é}', 'unexpected U+00E9'],
] as const) {
  test(`malformed JSON is told apart: ${JSON.stringify(body)}: ${where}`, async () => {
    assert.equal((await refused(body)).error.message, `The body is not valid JSON: ${where}.`);
  });
}

const types = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/xml',
  'application/jsonp',
  'text/json; x',
  'json',
  '',
];
for (const type of types) {
  test(`content type ${JSON.stringify(type)} is 415`, async () => {
    const { status, error } = await refused(JSON.stringify(hello), { 'content-type': type });
    assert.deepEqual([status, error.code], [415, 415]);
    assert.match(error.message, /application\/json/);
  });
}

for (const encoding of ['gzip, gzip', 'compress', 'made-up']) {
  test(`content-encoding ${encoding} is 415`, async () => {
    const { status, error } = await refused(JSON.stringify(hello), { 'content-encoding': encoding });
    assert.equal(status, 415);
    assert.equal(error.message, `Content-Encoding '${encoding}' is not supported here; send the body uncompressed.`);
  });
}

for (const [encoding, pack] of Object.entries(packings)) {
  test(`a body that is not the ${encoding} of its header, or is cut, is 400`, async () => {
    const whole = pack(JSON.stringify({ ...hello, user: randomBytes(90).toString('base64') }));
    for (const body of [JSON.stringify(hello), whole.subarray(0, whole.length - 12), Buffer.alloc(0)]) {
      const { status, error } = await refused(body, { 'content-encoding': encoding });
      assert.deepEqual([status, error.type], [400, 'invalid_request_error'], error.message);
    }
  });

  test(`a body of ${encoding} that unpacks to more than the limit is 413, however small it is`, async () => {
    const bomb = pack(Buffer.alloc(4 * 1024 * 1024, ' '));
    assert.ok(bomb.length < 64 * 1024);
    const { status, error } = await refused(bomb, { 'content-encoding': encoding });
    assert.equal(status, 413);
    assert.match(error.message, /2 ?MB|2097152|2,097,152/i);
  });
}

const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const withMember = (name: string, value: string) =>
  `{"model":"chat","messages":[{"role":"user","content":"x"}],"${name}":${value}}`;

test('too deep: 65 levels are 400, and so are 10,000 and 900,000', async () => {
  for (const levels of [64, 65, 10_000, 900_000]) {
    const { status, error } = await refused(withMember('deep', nested(levels)));
    assert.equal(status, 400);
    assert.match(error.message, /deeper than 64/);
  }
});

test('too large: 413 as declared; half a megabyte of blanks is still read', async () => {
  assert.equal((await refused(withMember('pad', `"${'x'.repeat(2_100_000)}"`))).status, 413);
  assert.equal((await refused(' '.repeat(500_000))).status, 400);
});

const readTwoWays: [what: string, body: string | Buffer, param: string | null][] = [
  ['a second model', withMember('model', '"other"'), 'model'],
  ['a second model in an escaped spelling', withMember('\\u006dodel', '"other"'), 'model'],
  ['a second stream', `${withMember('stream', 'true').slice(0, -1)},"stream":false}`, 'stream'],
  ['a second messages', withMember('messages', '[]'), 'messages'],
  ['a repeated unknown member', `${withMember('foo', '1').slice(0, -1)},"foo":2}`, 'foo'],
  ['a member repeated in an escaped spelling', `${withMember('foo', '1').slice(0, -1)},"f\\u006fo":2}`, null],
  ['__proto__', withMember('__proto__', '{"admin":true}'), '__proto__'],
  ['__proto__ in an escaped spelling', withMember('__pr\\u006fto__', '{"admin":true}'), '__proto__'],
  ['constructor', withMember('constructor', '{"prototype":{"x":1}}'), 'constructor'],
  ['1e999 for a known parameter', withMember('temperature', '1e999'), 'temperature'],
  ['-1e999 for a penalty', withMember('presence_penalty', '-1e999'), 'presence_penalty'],
  ['1e999 for an unknown parameter', withMember('min_p', '1e999'), 'min_p'],
  ['half a surrogate pair', withMember('user', '"\\ud800"'), 'user'],
  ['half a surrogate pair, upper case', withMember('user', '"\\uDFFF x"'), 'user'],
  [
    'half a pair in a message',
    `{"model":"chat","messages":[{"role":"user","content":"a\\ud83d"}]}`,
    'messages[0].content',
  ],
  ['half a pair in a key', withMember('x', '{"\\udc00":1}'), 'x'],
  ['bytes that are no UTF-8', Buffer.from(withMember('user', '"\xff\xfe"'), 'latin1'), null],
  ['a cut UTF-8 sequence', Buffer.from(withMember('user', '"\xe2\x82"'), 'latin1'), null],
  ['an overlong UTF-8 sequence', Buffer.from(withMember('user', '"\xc0\xaf"'), 'latin1'), null],
];
for (const [what, body, param] of readTwoWays) {
  test(`what two parsers would read two ways is 400: ${what}`, async () => {
    const { status, error } = await refused(body);
    assert.deepEqual([status, error.param], [400, param], error.message);
  });
}

test('huge arrays are 400 or 413', async () => {
  for (const body of [
    `{"model":"chat","messages":[${'0,'.repeat(900_000)}0]}`,
    withMember('stop', `[${'"a",'.repeat(400_000)}"a"]`),
    withMember('tools', `[${'{},'.repeat(400_000)}{}]`),
    withMember('logit_bias', `{${Array.from({ length: 100_000 }, (_, i) => `"${i}":101`).join(',')}}`),
    `{${Array.from({ length: 100_000 }, (_, i) => `"k${i}":1`).join(',')}}`,
  ])
    assert.equal((await refused(body)).status, 400);
});

const head = (line: string, headers: string) =>
  `${line}\r\n${headers}authorization: Bearer ${testKey}\r\ncontent-type: application/json\r\n`;
const payload = JSON.stringify(hello);
const rest = `content-length: ${payload.length}\r\n\r\n${payload}`;
const unfit: [what: string, bytes: string][] = [
  ['two Host headers', head(`POST ${chatPath} HTTP/1.1`, 'host: a\r\nhost: b\r\n')],
  ['two equal Host headers', head(`POST ${chatPath} HTTP/1.1`, 'host: a\r\nHost: a\r\n')],
  ['an absolute-form target', head(`POST http://evil.example${chatPath} HTTP/1.1`, 'host: a\r\n')],
  ['an absolute-form target for this host', head(`POST http://a${chatPath} HTTP/1.1`, 'host: a\r\n')],
  ['an asterisk target', head('POST * HTTP/1.1', 'host: a\r\n')],
  ...['a/?x', 'a?x', 'a#', 'user@a', 'a/b', 'a\\b', 'a b', "a'", 'a;b', 'a,b', '\xe4'].map((host): [string, string] => [
    `Host: ${host}`,
    head(`POST ${chatPath} HTTP/1.1`, `host: ${host}\r\n`),
  ]),
  ['no Host', head(`POST ${chatPath} HTTP/1.1`, '')],
];
for (const [what, bytes] of unfit) {
  test(`${what}: 400 by us, and the connection closes`, async () => {
    const answer = await answerUntilClosed(gateway.url, bytes + rest);
    assert.deepEqual(answer.statuses, [400]);
    assert.match(answer.text, /"type":"invalid_request_error"/);
    assert.ok(answer.closed);
  });
}

test('a path in a Host that is fine is served', async () => {
  for (const host of ['localhost', '127.0.0.1:4141', '[::1]:4141', 'gateway.example.org', 'a_b.example']) {
    const answer = await answerTo(gateway.url, `${head('GET /v1/models HTTP/1.1', `host: ${host}\r\n`)}\r\n`);
    assert.equal(answer.status, 200, host);
  }
});

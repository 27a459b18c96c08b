import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { checkConfigText } from '../../src/config/check.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { textsOf } from '../steps/texts-of.ts';
import { until } from '../until.ts';

const mail = 'jo.doe@example.org';
const card = '4111 1111 1111 1111';
const made = 'made.up@example.net';

/** Repeats the last word in angle brackets of its request, a value that it makes, and both as a tool's arguments. */
const bodies: string[] = [];
let says = (masked: string) => `To ${masked} and ${made}.`;
let piece = 5;
const upstream = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  if (request.method === 'POST') bodies.push(body);
  const masked = /<[A-Z]+_\d+>/.exec(body)?.[0] ?? mail;
  const content = says(masked);
  const args = JSON.stringify({ to: masked, n: 1 });
  const call = (json: string) => ({ index: 0, id: 't', type: 'function', function: { name: 'f', arguments: json } });
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const head = { id: 'c', created: 1, model: 'm' };
  if (!/"stream": ?true/.test(body)) {
    const message = { role: 'assistant', content, tool_calls: [call(args)] };
    const choices = [{ index: 0, message, finish_reason: 'tool_calls' }];
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ ...head, object: 'chat.completion', choices, usage }));
    return;
  }
  response.setHeader('content-type', 'text/event-stream');
  const send = (delta: object, finish_reason: string | null = null) =>
    response.write(
      `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`,
    );
  for (let at = 0; at < content.length; at += piece) send({ content: content.slice(at, at + piece) });
  send({ tool_calls: [call('')] });
  for (let at = 0; at < args.length; at += piece) {
    send({ tool_calls: [{ index: 0, function: { arguments: args.slice(at, at + piece) } }] });
  }
  send({}, 'tool_calls');
  response.end('data: [DONE]\n\n');
});
await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
after(() => upstream.close());
const { port } = upstream.address() as AddressInfo;

const pii = { check: 'personal-data', kinds: ['email'] };
const targets = [{ provider: 'openai', model: 'm' }];
const gateway = await startGateway({ after } as TestContext, {
  providers: { openai: { type: 'openai', base_url: `http://127.0.0.1:${port}/v1`, api_key: 'k' } },
  guards: {
    masks: { ...pii, action: 'mask' },
    blocks: { ...pii, action: 'block' },
    'blocks-answers': { check: 'words', words: ['made.up'], action: 'block', on: ['output'] },
    flags: { ...pii, action: 'flag' },
    observes: { ...pii, action: 'mask', mode: 'observe' },
    lenient: { ...pii, action: 'mask', on_error: 'allow' },
    routes: { ...pii, action: 'route', route_to: 'plain', on: ['input'] },
    'routes-on': { ...pii, action: 'route', route_to: 'masks', on: ['input'] },
    'no-cards': { check: 'personal-data', kinds: ['card'], action: 'mask' },
  },
  models: {
    plain: { targets },
    masks: { targets, guards: ['masks'] },
    blocks: { targets, guards: ['blocks'] },
    'blocks-answers': { targets, guards: ['blocks-answers'] },
    flags: { targets, guards: ['flags'] },
    observes: { targets, guards: ['observes'] },
    lenient: { targets, guards: ['lenient'] },
    routes: { targets, guards: ['routes'] },
    'routes-on': { targets, guards: ['routes-on'] },
    both: { targets, guards: ['masks', 'no-cards'] },
  },
});

const schema = (word: string) => ({ type: 'object', properties: { to: { type: 'string', description: word } } });
const parts = ['system', 'user', 'tool definition', 'tool argument', 'tool result'] as const;
type Part = (typeof parts)[number];
type Words = Record<Part, string>;

const formats: Record<string, { path(model: string, stream: boolean): string; body(words: Words): object }> = {
  chat: {
    path: () => '/v1/chat/completions',
    body: (words) => ({
      messages: [
        { role: 'system', content: words.system },
        { role: 'user', content: words.user },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: 't',
              type: 'function',
              function: { name: 'f', arguments: JSON.stringify({ to: words['tool argument'] }) },
            },
          ],
        },
        { role: 'tool', tool_call_id: 't', content: words['tool result'] },
      ],
      tools: [{ type: 'function', function: { name: 'f', parameters: schema(words['tool definition']) } }],
    }),
  },
  messages: {
    path: () => '/v1/messages',
    body: (words) => ({
      max_tokens: 100,
      system: words.system,
      messages: [
        { role: 'user', content: words.user },
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 't', name: 'f', input: { to: words['tool argument'] } }],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: words['tool result'] }] },
      ],
      tools: [{ name: 'f', input_schema: schema(words['tool definition']) }],
    }),
  },
  responses: {
    path: () => '/v1/responses',
    body: (words) => ({
      instructions: words.system,
      input: [
        { role: 'user', content: [{ type: 'input_text', text: words.user }] },
        { type: 'function_call', call_id: 't', name: 'f', arguments: JSON.stringify({ to: words['tool argument'] }) },
        { type: 'function_call_output', call_id: 't', output: words['tool result'] },
      ],
      tools: [{ type: 'function', name: 'f', parameters: schema(words['tool definition']) }],
    }),
  },
  gemini: {
    path: (model, stream) => `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: (words) => ({
      systemInstruction: { parts: [{ text: words.system }] },
      contents: [
        { role: 'user', parts: [{ text: words.user }] },
        { role: 'model', parts: [{ functionCall: { name: 'f', args: { to: words['tool argument'] } } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'f', response: { result: words['tool result'] } } }] },
      ],
      tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: schema(words['tool definition']) }] }],
    }),
  },
};

const harmless: Words = {
  system: 'be kind',
  user: 'hello',
  'tool definition': 'a place',
  'tool argument': 'here',
  'tool result': 'done',
};

async function ask(format: string, model: string, stream: boolean, words: Partial<Words>, headers = {}) {
  bodies.length = 0;
  const { path, body } = formats[format]!;
  const json = { ...body({ ...harmless, ...words }), ...(format !== 'gemini' && { model, stream }) };
  const response = await gateway.fetch(path(model, stream), { json, headers });
  const text = await response.text();
  return { status: response.status, text, said: textsOf(text, stream), guard: response.headers.get('x-culvert-guard') };
}

for (const format of Object.keys(formats)) {
  for (const stream of [false, true]) {
    const how = `${format}, ${stream ? 'streamed' : 'whole'}`;
    for (const part of parts) {
      const words = { [part]: `about ${mail}, twice ${mail}` };
      test(`mask: ${how}, ${part}`, async () => {
        const { status, text, said, guard } = await ask(format, 'masks', stream, words);
        assert.equal(status, 200, text);
        assert.ok(!bodies[0]!.includes(mail) && bodies[0]!.split('<EMAIL_1>').length === 3, bodies[0]);
        assert.ok(said.includes(`To ${mail} and <EMAIL_2>.`) && !said.includes(made), said);
        assert.match(said, /"to": ?\\?"jo\.doe@example\.org|^jo\.doe@example\.org$/m);
        // The head of a stream goes before its text, or with it.
        assert.match(guard ?? '', stream ? /^masks=masked:[23]; scanned=100%$/ : /^masks=masked:3; scanned=100%$/);
      });
      test(`block: ${how}, ${part}`, async () => {
        const { status, text, guard } = await ask(format, 'blocks', stream, words);
        assert.equal(status, 400, text);
        assert.equal(bodies.length, 0);
        assert.match(text, /guard_blocked/);
        assert.match(text, /The guard 'blocks' does not let the request pass/);
        assert.ok(!text.includes(mail));
        assert.match(guard ?? '', /^blocks=blocked:2; scanned=100%$/);
      });
      for (const [model, verdict] of [
        ['flags', 'flagged'],
        ['observes', 'would-be-masked'],
      ] as const) {
        test(`${verdict}: ${how}, ${part}`, async () => {
          const { status, text, said, guard } = await ask(format, model, stream, words);
          assert.equal(status, 200, text);
          assert.ok(bodies[0]!.includes(mail) && said.includes(`To ${mail} and ${made}.`), said);
          assert.match(guard ?? '', new RegExp(`^${model}=${verdict}:\\d+; scanned=100%$`));
        });
      }
    }
    test(`an answer that a guard blocks ends as filtered: ${how}`, async () => {
      const { status, text, said } = await ask(format, 'blocks-answers', stream, {});
      assert.ok(!said.includes('made.up'), text);
      if (status === 200) assert.match(text, /content_filter|refusal|SAFETY/i);
      if (status === 200 && format === 'responses') assert.match(text, /"input_tokens":[1-9].*"output_tokens":[1-9]/);
      if (status !== 200) assert.ok(status === 400 && text.includes('guard_blocked'), text);
    });
    test(`two guards mask what each looks for: ${how}`, async () => {
      const { said, guard } = await ask(format, 'both', stream, { user: `${mail} pays with ${card}` });
      assert.ok(bodies[0]!.includes('<EMAIL_1> pays with <CARD_1>'), bodies[0]);
      assert.ok(said.includes(`To ${mail} and <EMAIL_2>.`), said);
      assert.match(guard ?? '', /^masks=masked:\d, no-cards=masked:1; scanned=100%$/);
    });
  }
}

test('mask and unmask are the identity, wherever the stream is cut', async () => {
  for (piece = 1; piece < 12; piece++) {
    const { said } = await ask('chat', 'masks', true, { user: mail });
    assert.ok(said.includes(`To ${mail} and <EMAIL_2>.`), `${piece}: ${said}`);
  }
  piece = 5;
});

test('what invisible characters hide is masked with them, and what shows with them goes through unchanged', async () => {
  const hidden = [...mail].join('\u200b\u{e0041}');
  const family = '👩‍👩‍👧‍👦 at 1️⃣, ٣ کتاب‌ها';
  says = (masked) => `${family}: ${masked}, ${[...made].join('\u2060')} and ｍａｄｅ＠ｅｘａｍｐｌｅ．ｎｅｔ ${family}`;
  for (const format of Object.keys(formats)) {
    for (piece of [1, 2, 5, 1_000]) {
      for (const stream of [true, false]) {
        const how = `${format}, ${stream}, ${piece}`;
        const { said } = await ask(format, 'masks', stream, { user: `${family} is ${hidden}${family}` });
        assert.ok(bodies[0]!.includes(`${family} is <EMAIL_1>${family}`), `${how}: ${bodies[0]}`);
        assert.ok(said.includes(`${family}: ${hidden}, <EMAIL_2> and <EMAIL_3> ${family}`), `${how}: ${said}`);
        const blocked = await ask(format, 'blocks', stream, { user: hidden });
        assert.equal(blocked.status, 400, how);
      }
    }
  }
  piece = 5;
  says = (masked) => `To ${masked} and ${made}.`;
});

test('a word that the caller wrote stays as it is', async () => {
  says = (masked) => `${masked} and <EMAIL_1>`;
  const { said } = await ask('chat', 'masks', false, { user: `<EMAIL_1> is no mail, ${mail} is` });
  says = (masked) => `To ${masked} and ${made}.`;
  assert.ok(bodies[0]!.includes('<EMAIL_1> is no mail, <EMAIL_2> is'), bodies[0]);
  assert.ok(said.includes('<EMAIL_1> and <EMAIL_1>'), said);
});

test('a request with a part that nobody can read is refused, or goes on where the guard allows it', async () => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
  const content = [{ type: 'text', text: mail }, image];
  const post = (model: string) =>
    gateway.fetch('/v1/chat/completions', { json: { model, messages: [{ role: 'user', content }] } });
  const refused = await post('masks');
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /The guard 'masks' cannot read a part of this request.*on_error: allow/);
  const allowed = await post('lenient');
  assert.equal(allowed.status, 200, await allowed.text());
  assert.match(allowed.headers.get('x-culvert-guard') ?? '', /; unscanned; scanned=\d\d%$/);
});

test('a guard routes what it finds to another model', async () => {
  const { status, text, guard } = await ask('chat', 'routes', false, { user: mail });
  assert.equal(status, 200, text);
  assert.equal(guard, 'routes=routed:1; scanned=100%');
});

test('the guards of a model see what another guard sends there, and what may fall back to it', async () => {
  bodies.length = 0;
  const { status, text, guard } = await ask('chat', 'routes-on', false, { user: mail });
  assert.equal(status, 200, text);
  assert.match(guard ?? '', /^routes-on=routed:1, masks=masked:\d/);
  assert.ok(bodies.length === 1 && !bodies[0]?.includes(mail), bodies.join());

  const json = { model: 'plain', models: ['plain', 'blocks'], messages: [{ role: 'user', content: mail }] };
  const response = await gateway.fetch('/v1/chat/completions', { json });
  assert.equal(response.status, 400, await response.text());
  assert.match(response.headers.get('x-culvert-guard') ?? '', /^blocks=blocked:1/);
});

test('a request without guards says nothing of them, and no header of a caller turns one off', async () => {
  assert.equal((await ask('chat', 'plain', false, { user: mail })).guard, null);
  const headers = { 'x-culvert-guard': 'off', 'x-culvert-guards': 'none' };
  assert.equal((await ask('chat', 'blocks', false, { user: mail }, headers)).status, 400);
});

test('the metrics count verdicts by guard', async () => {
  const response = await fetch(`${gateway.url}/metrics`, { headers: { authorization: `Bearer ${adminKey}` } });
  const text = await response.text();
  assert.match(text, /culvert_guard_verdicts_total\{guard="masks",verdict="masked"\} \d+/);
  assert.match(text, /guard="observes",verdict="would-be-masked"/);
});

test('bad guards are refused with line and column', () => {
  const text = [
    'guards:',
    "  ours: { check: patterns, patterns: ['AB-[0-9]+'], action: flag }",
    '  pii: { check: personal-data, kinds: [jwt], action: mask }',
    '  away: { check: secrets, action: route, route_to: smrat }',
  ].join('\n');
  const problems = (written: string) => {
    const checked = checkConfigText(written, 'culvert.yaml', {});
    return checked.ok ? [] : checked.errors.map(({ line, path, message }) => `${line} ${path}: ${message}`);
  };
  const [pattern = '', kind = ''] = problems(text);
  assert.match(pattern, /^2 guards\.ours\.patterns\[0\]: .*\+ has no bound.*\{1,40\}/);
  assert.match(kind, /^3 guards\.pii\.kinds\[0\]: the check personal-data has no such kind/);
  const named = `guards: { pii: { check: secrets, action: flag } }\nserver: { guards: [pil] }`;
  assert.match(problems(named)[0] ?? '', /^2 server\.guards\[0\]: there is no such guard \(did you mean 'pii'\?\)/);
});

test('a guard of the server or of a plan applies to each model and to other families', async (t) => {
  const providers = { openai: { type: 'openai', base_url: `http://127.0.0.1:${port}/v1`, api_key: 'k' } };
  const guards = { blocks: { ...pii, action: 'block' } };
  const models = { plain: { targets }, embed: { type: 'embedding', targets } };
  for (const scope of [{ server: { guards: ['blocks'] } }, { plans: { default: { guards: ['blocks'] } } }]) {
    const guarded = await startGateway(t, { providers, guards, models, ...scope });
    for (const [path, json] of [
      ['/v1/chat/completions', { model: 'plain', messages: [{ role: 'user', content: mail }] }],
      ['/v1/embeddings', { model: 'embed', input: mail }],
    ] as const) {
      const response = await guarded.fetch(path, { json });
      assert.equal(response.status, 400, await response.text());
      assert.equal(response.headers.get('x-culvert-guard'), 'blocks=blocked:1; scanned=100%');
    }
  }
});

test('the record of a request has what guards did, and no text that they masked', async () => {
  const response = await gateway.fetch('/v1/chat/completions', {
    json: { model: 'masks', messages: [{ role: 'user', content: mail }] },
  });
  await response.text();
  const id = response.headers.get('x-culvert-request-id');
  const headers = { authorization: `Bearer ${adminKey}` };
  let shown = '';
  await until('the record is written', async () => {
    const found = await fetch(`${gateway.url}/admin/v1/requests/${id}`, { headers });
    shown = await found.text();
    return found.status === 200;
  });
  assert.match(shown, /"steps":\["x-culvert-guard","masks=masked:2; scanned=100%"\]/);
  assert.ok(!shown.includes(mail) && !shown.includes(made), shown);
});

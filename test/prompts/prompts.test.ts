import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { checkConfigText } from '../../src/config/check.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startQuietUpstream } from '../steps/quiet-upstream.ts';
import { shoutStep } from '../steps/shout-step.ts';

const upstream = await startQuietUpstream();
after(upstream.close);
const provider = { base_url: `${upstream.url}/v1`, api_key: 'k' };
const target = (name: string) => ({ targets: [{ provider: name, model: 'm' }] });
const messages = [
  { role: 'system', content: 'Reply in a {{tone}} tone.' },
  { role: 'user', content: 'Example {{ n }}?' },
  { role: 'assistant', content: 'Shown {{sure}}.' },
];
const fixed = [
  { role: 'system', content: 'Be kind.' },
  { role: 'user', content: 'One?' },
  { role: 'assistant', content: 'Two.' },
];
const variables = { tone: 'string', n: { type: 'number', default: 7 }, sure: { type: 'boolean', default: true } };
const config = {
  providers: { openai: { type: 'openai', ...provider }, anthropic: { type: 'anthropic', ...provider } },
  models: { openai: target('openai'), anthropic: target('anthropic'), closed: target('openai') },
  plans: { default: { windows: 'off', rpm: 'off', models: ['openai', 'anthropic'] } },
  prompts: {
    reply: { variables, model: 'openai', parameters: { temperature: 0.25, max_tokens: 50 }, messages },
    elsewhere: { variables, model: 'anthropic', parameters: { max_tokens: 50 }, messages },
    fixed: { model: 'openai', parameters: { temperature: 0.25, max_tokens: 50, top_p: 0.5 }, messages: fixed },
    forbidden: { model: 'closed', messages: [{ role: 'system', content: 'x' }] },
    bare: { messages: [{ role: 'user', content: 'From a bare prompt.' }] },
    many: {
      model: 'openai',
      versions: {
        1: { messages: [{ role: 'system', content: 'version one' }] },
        2: { messages: [{ role: 'system', content: 'version two' }], model: 'openai' },
        3: { messages: [{ role: 'system', content: 'version three' }], model: 'openai' },
      },
      labels: { production: 2, canary: 3 },
    },
  },
};
const gateway = await startGateway({ after } as TestContext, config);

/** A body of each format, with `text` as the caller's own turn. */
const formats: Record<
  string,
  { path(model: string, stream: boolean): string; body(model: string, text: string, stream: boolean): object }
> = {
  chat: {
    path: () => '/v1/chat/completions',
    body: (model, text, stream) => ({ model, stream, messages: [{ role: 'user', content: text }] }),
  },
  messages: {
    path: () => '/v1/messages',
    body: (model, text, stream) => ({
      model,
      stream,
      system: 'own system',
      messages: [{ role: 'user', content: text }],
    }),
  },
  responses: {
    path: () => '/v1/responses',
    body: (model, text, stream) => ({ model, stream, store: false, input: text }),
  },
  gemini: {
    path: (model, stream) => `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: (_, text) => ({ contents: [{ role: 'user', parts: [{ text }] }] }),
  },
};

async function ask(format: string, model: string, more: object, { text = 'my own turn', stream = false } = {}) {
  upstream.bodies.length = 0;
  const { path, body } = formats[format]!;
  const response = await gateway.fetch(path(model, stream), { json: { ...body(model, text, stream), ...more } });
  return { status: response.status, answer: await response.text(), sent: upstream.bodies[0] ?? '' };
}

const hostile = 'quoted "}], \\ {{n}} {{tone}} $& $1 \u2028 end';

for (const format of Object.keys(formats)) {
  for (const stream of [false, true]) {
    for (const size of ['small', 'large']) {
      for (const name of ['reply', 'elsewhere']) {
        test(`a prompt comes before the caller's messages: ${format}, ${name}, ${stream ? 'streamed' : 'whole'}, ${size}`, async () => {
          const text = size === 'large' ? `my own turn${'x'.repeat(1_200_000)}` : 'my own turn';
          const { status, answer, sent } = await ask(
            format,
            `prompt/${name}`,
            { prompt: { variables: { tone: hostile } } },
            { text, stream },
          );
          assert.equal(status, 200, answer);
          const body = JSON.parse(sent);
          const all =
            JSON.stringify(body.system ?? []) +
            JSON.stringify(body.messages ?? body.input) +
            JSON.stringify(body.instructions ?? '');
          const inside = (word: string) => all.includes(JSON.stringify(word).slice(1, -1));
          assert.ok(inside(`Reply in a ${hostile} tone.`), sent.slice(0, 2_000));
          assert.ok(inside('Example 7?') && inside('Shown true.'), sent.slice(0, 2_000));
          const turns = JSON.stringify(body.messages ?? body.input);
          assert.ok(turns.indexOf('Example 7?') < turns.indexOf('Shown true.'));
          assert.ok(turns.indexOf('Shown true.') < turns.indexOf('my own turn'));
          assert.equal(body.model, 'm');
          assert.equal(body.prompt, undefined);
          assert.equal(body.max_tokens ?? body.max_completion_tokens ?? body.max_output_tokens, 50);
          if (name === 'reply') assert.equal(body.temperature, 0.25);
          if (format === 'messages') assert.ok(inside('own system'));
        });
      }
    }
  }

  test(`what a request gives wrongly is a 400 with the variable's name: ${format}`, async () => {
    const missing = await ask(format, 'prompt/reply', {});
    assert.equal(missing.status, 400);
    assert.match(missing.answer, /needs the variable 'tone'/);
    const unknown = await ask(format, 'prompt/reply', { prompt: { variables: { tone: 'a', tonne: 'b' } } });
    assert.equal(unknown.status, 400);
    assert.match(unknown.answer, /no variable 'tonne' \(did you mean 'tone'\?\)/);
    const wrong = await ask(format, 'prompt/reply', { prompt: { variables: { tone: 'a', n: '7' } } });
    assert.equal(wrong.status, 400);
    assert.match(wrong.answer, /'n' of the prompt 'reply' is a number/);
    for (const inherited of ['constructor', 'toString', '__proto__']) {
      const json = `{"tone":"a","${inherited}":"b"}`;
      const odd = await ask(format, 'prompt/reply', { prompt: { variables: JSON.parse(json) } });
      assert.equal(odd.status, 400, odd.answer);
    }
    const none = await ask(format, 'prompt/replly', {});
    assert.equal(none.status, 404);
    assert.match(none.answer, /no prompt 'replly' \(did you mean 'reply'\?\)/);
    const noVersion = await ask(format, 'prompt/many@prod', {});
    assert.equal(noVersion.status, 404);
    assert.match(noVersion.answer, /no version or label 'prod'/);
    const listed = await ask(format, 'prompt/reply', { prompt: { variables: ['a'] } });
    assert.equal(listed.status, 400);
    const noModel = await ask(format, 'prompt/bare', {});
    assert.equal(noModel.status, 400);
    assert.match(noModel.answer, /names no model/);
    const forbidden = await ask(format, 'prompt/forbidden', format === 'messages' ? { max_tokens: 5 } : {});
    assert.equal(forbidden.status, 403, forbidden.answer);
    assert.deepEqual(upstream.bodies, []);
  });

  test(`labels and numbers choose a version: ${format}`, async () => {
    for (const [ref, words] of [
      ['', 'version two'],
      ['@3', 'version three'],
      ['@canary', 'version three'],
      ['@production', 'version two'],
    ]) {
      const { sent, answer } = await ask(format, `prompt/many${ref}`, { max_tokens: 5 });
      assert.ok(sent.includes(words!), answer + sent);
    }
    const byId = await ask(format, 'openai', { max_tokens: 5, prompt: { id: 'many', version: 'canary' } });
    assert.ok(byId.sent.includes('version three'), byId.answer);
    const byNumber = await ask(format, 'openai', { max_tokens: 5, prompt: { id: 'many', version: 3 } });
    assert.ok(byNumber.sent.includes('version three'), byNumber.answer);
  });

  test(`a request's own parameters stay: ${format}`, async () => {
    const own = format === 'gemini' ? { generationConfig: { temperature: 0.75 } } : { temperature: 0.75 };
    const { sent } = await ask(format, 'prompt/reply', { prompt: { variables: { tone: 'a' } }, ...own });
    assert.equal(JSON.parse(sent).temperature, 0.75);
  });
}

const turn = { role: 'user', content: 'my own turn' };
/** Calls of formats that only callers speak. Their members have no place for variables. */
const elsewhere: Record<string, { path: string; json: object; headers?: Record<string, string> }> = {
  "Ollama's chat": { path: '/api/chat', json: { model: 'prompt/fixed', stream: false, messages: [turn] } },
  "Cohere's chat": { path: '/v2/chat', json: { model: 'prompt/fixed', messages: [turn] } },
  'the AI SDK': {
    path: '/v4/ai/language-model',
    json: { prompt: [{ role: 'user', content: [{ type: 'text', text: turn.content }] }] },
    headers: { 'ai-language-model-id': 'prompt/fixed' },
  },
  "Bedrock's Converse": {
    path: '/model/prompt%2Ffixed/converse',
    json: { messages: [{ role: 'user', content: [{ text: turn.content }] }] },
  },
};
for (const [format, { path, json, headers = {} }] of Object.entries(elsewhere)) {
  test(`a prompt comes before the caller's messages: ${format}`, async () => {
    upstream.bodies.length = 0;
    const answer = await gateway.fetch(path, { method: 'POST', json, headers });
    assert.equal(answer.status, 200, await answer.text());
    const { model, messages: sent, temperature, top_p, ...more } = JSON.parse(upstream.bodies[0] ?? '{}');
    assert.deepEqual([model, temperature, top_p, more.max_completion_tokens ?? more.max_tokens], ['m', 0.25, 0.5, 50]);
    assert.deepEqual(sent, [...fixed, turn]);
  });
}

test("a prompt becomes the instructions of Ollama's text", async () => {
  upstream.bodies.length = 0;
  const json = { model: 'prompt/fixed', stream: false, system: 'Be brief.', prompt: turn.content };
  assert.equal((await gateway.fetch('/api/generate', { json })).status, 200);
  assert.deepEqual(JSON.parse(upstream.bodies[0] ?? '{}').messages, [
    { role: 'system', content: 'Be kind.\n\nOne?\n\nTwo.\n\nBe brief.' },
    turn,
  ]);
});

test("Responses' prompt works without model and input, and an id of a provider goes on", async () => {
  upstream.bodies.length = 0;
  const own = await gateway.fetch('/v1/responses', {
    json: { store: false, prompt: { id: 'reply', variables: { tone: 'warm' } } },
  });
  assert.equal(own.status, 200, await own.text());
  assert.match(upstream.bodies[0]!, /Reply in a warm tone/);
  upstream.bodies.length = 0;
  await gateway.fetch('/v1/responses', {
    json: { model: 'openai', input: 'x', prompt: { id: 'pmpt_123', variables: { a: 'b' } } },
  });
  for (const body of upstream.bodies) assert.match(body, /pmpt_123/);
});

test('a chat without messages of its own takes those of the prompt', async () => {
  upstream.bodies.length = 0;
  const json = { model: 'prompt/reply', prompt: { variables: { tone: 'warm' } } };
  const response = await gateway.fetch('/v1/chat/completions', { json });
  assert.equal(response.status, 200, await response.text());
  assert.equal(JSON.parse(upstream.bodies[0]!).messages.length, 3);
});

test('a value that is used too often is refused', async () => {
  const answer = await ask('chat', 'prompt/reply', { prompt: { variables: { tone: 'x'.repeat(2_100_000) } } });
  assert.equal(answer.status, 400);
  assert.match(answer.answer, /more than 2000000 characters/);
});

test('guards see the prompt, by the model that it names', async (t) => {
  const step = shoutStep();
  const guarded = await startGateway(t, config, { steps: [{ step, on: { models: ['openai'] } }] });
  const json = { model: 'prompt/reply', prompt: { variables: { tone: 'quietin' } } };
  upstream.bodies.length = 0;
  await (await guarded.fetch('/v1/chat/completions', { json })).text();
  assert.match(upstream.bodies[0]!, /Reply in a LOUDIN tone/);
});

test('numbers of the request stay as they came', async () => {
  upstream.bodies.length = 0;
  const body = '{"model":"prompt\\/reply","seed":9007199254740993,"prompt":{"variables":{"tone":"a"}},"messages":[]}';
  await (
    await gateway.fetch('/v1/chat/completions', {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    })
  ).text();
  assert.match(upstream.bodies[0]!, /9007199254740993/);
});

test('counting tokens and explaining read the prompt too', async () => {
  const count = async (model: string, more: object) => {
    const json = { model, messages: [{ role: 'user', content: 'x' }], ...more };
    const response = await gateway.fetch('/v1/messages/count_tokens', { json });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return (JSON.parse(text) as { input_tokens: number }).input_tokens;
  };
  const words = 'many words in a value '.repeat(20);
  assert.ok(
    (await count('prompt/reply', { prompt: { variables: { tone: words } } })) > (await count('openai', {})) + 60,
  );
  const explained = await gateway.fetch('/admin/v1/explain', {
    headers: { authorization: `Bearer ${adminKey}` },
    json: { body: { model: 'prompt/reply', prompt: { variables: { tone: 'a' } }, messages: [] } },
  });
  const shown = await explained.text();
  assert.equal(explained.status, 200, shown);
  assert.match(shown, /"model":"openai"/);
});

for (const [what, prompt, message] of [
  [
    'a variable that nobody declared',
    { messages: [{ role: 'system', content: 'a {{ton}}' }], variables: { tone: 'string' } },
    /messages\[0\]\.content.*\{\{ton\}\} is no variable of this prompt \(did you mean 'tone'\?\)/,
  ],
  [
    'a label without its version',
    { versions: { 1: { messages: [{ role: 'system', content: 'a' }] } }, labels: { production: 2 } },
    /no such version, only 1/,
  ],
  ['neither messages nor versions', { labels: {} }, /expected either messages or versions/],
  [
    'an unknown model',
    { messages: [{ role: 'system', content: 'a' }], model: 'opena' },
    /no such model \(did you mean 'openai'\?\)/,
  ],
  [
    'a default of another type',
    { messages: [{ role: 'system', content: '{{n}}' }], variables: { n: { type: 'number', default: 'x' } } },
    /expected a number/,
  ],
] as const) {
  test(`a configuration names its place: ${what}`, () => {
    const text = JSON.stringify({ ...config, prompts: { odd: prompt } }, null, 1);
    const checked = checkConfigText(text, 'culvert.yaml', {});
    assert.ok(!checked.ok);
    const [error] = checked.errors;
    assert.match(`${error!.path}: ${error!.message}`, message);
    assert.ok(error!.line > 1);
  });
}

test('the record of a request names its prompt with the version', async () => {
  const asked = async (model: string) => {
    const json = { model, messages: [{ role: 'user', content: 'x' }] };
    const response = await gateway.fetch('/v1/chat/completions', { json });
    assert.equal(response.status, 200, await response.text());
    const headers = { authorization: `Bearer ${adminKey}` };
    const id = response.headers.get('x-culvert-request-id');
    const record = await (await gateway.fetch(`/admin/v1/requests/${id}`, { headers })).json();
    return (record as { route: { prompt?: string } }).route.prompt;
  };
  assert.equal(await asked('prompt/many'), 'many@2');
  assert.equal(await asked('prompt/many@canary'), 'many@3');
  assert.equal(await asked('openai'), undefined);
});

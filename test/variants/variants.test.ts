import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { checkConfigText } from '../../src/config/check.ts';
import { adminKey, startGateway, type TestGateway } from '../start-gateway.ts';
import { startQuietUpstream } from '../steps/quiet-upstream.ts';

const upstream = await startQuietUpstream();
after(upstream.close);
const provider = { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' };
const variants = {
  a: { weight: 3 },
  b: { weight: 1, targets: ['up/other'], prompt: 'kind', parameters: { temperature: 0.25 } },
  off: { weight: 0, targets: ['up/never'] },
};
const config = {
  providers: { up: provider },
  models: {
    smart: { targets: ['up/m'], variants, sticky: 'user' },
    only: { targets: ['up/m'], variants: { b: variants.b } },
    talk: { targets: ['up/m'], variants, sticky: 'session' },
    plain: { targets: ['up/m'] },
  },
  prompts: { kind: { messages: [{ role: 'system', content: 'Be kind.' }] } },
};

const formats: Record<
  string,
  { path(model: string, stream: boolean): string; body(model: string, stream: boolean, user?: string): object }
> = {
  chat: {
    path: () => '/v1/chat/completions',
    body: (model, stream, user) => ({
      model,
      stream,
      user,
      temperature: 1,
      messages: [{ role: 'user', content: 'x' }],
    }),
  },
  messages: {
    path: () => '/v1/messages',
    body: (model, stream, user) => ({
      ...{ model, stream, temperature: 1, max_tokens: 9, messages: [{ role: 'user', content: 'x' }] },
      ...(user !== undefined && { metadata: { user_id: user } }),
    }),
  },
  responses: {
    path: () => '/v1/responses',
    body: (model, stream, user) => ({ model, stream, user, store: false, temperature: 1, input: 'x' }),
  },
  gemini: {
    path: (model, stream) => `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: () => ({ contents: [{ role: 'user', parts: [{ text: 'x' }] }], generationConfig: { temperature: 1 } }),
  },
};

async function ask(
  gateway: TestGateway,
  format: string,
  model: string,
  { user, stream = false, headers = {} }: { user?: string; stream?: boolean; headers?: Record<string, string> } = {},
) {
  upstream.bodies.length = 0;
  const { path, body } = formats[format]!;
  const response = await gateway.fetch(path(model, stream), { json: body(model, stream, user), headers });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const sent = JSON.parse(upstream.bodies[0]!) as { model: string; temperature: number };
  return { variant: response.headers.get('x-culvert-variant'), id: response.headers.get('x-culvert-request-id'), sent };
}

test('a variant has its own target, prompt and parameters, in all formats, whole and streamed', async (t) => {
  const gateway = await startGateway(t, config);
  for (const format of Object.keys(formats)) {
    for (const stream of [false, true]) {
      const { variant, sent } = await ask(gateway, format, 'only', { stream });
      assert.equal(variant, 'b');
      assert.equal(sent.model, 'other');
      assert.equal(sent.temperature, 0.25);
      assert.match(JSON.stringify(sent), /Be kind\./);
      const plain = await ask(gateway, format, 'plain', { stream });
      assert.equal(plain.variant, null);
      assert.equal(plain.sent.temperature, 1);
    }
  }
});

test('users get their shares, and each stays over a restart and on another replica', async (t) => {
  const [first, second] = [await startGateway(t, config), await startGateway(t, config)];
  const users = Array.from({ length: 400 }, (_, at) => `user-${at}`);
  const chosen = new Map<string, string | null>();
  for (const user of users) {
    const { variant, sent } = await ask(first, 'chat', 'smart', { user });
    assert.equal(sent.model, variant === 'b' ? 'other' : 'm');
    chosen.set(user, variant);
  }
  const ofB = [...chosen.values()].filter((variant) => variant === 'b').length;
  // 100 are expected; the standard deviation is 8.7.
  assert.ok(ofB > 60 && ofB < 140, String(ofB));
  assert.ok(![...chosen.values()].includes('off'));
  await first.reload(config);
  for (const user of users.slice(0, 60)) {
    for (const gateway of [first, second]) {
      assert.equal((await ask(gateway, 'chat', 'smart', { user })).variant, chosen.get(user));
    }
    const { variant } = await ask(second, 'messages', 'smart', { user });
    assert.equal(variant, chosen.get(user));
  }
});

test('a session stays with its variant, and other sessions of the key may have another', async (t) => {
  const gateway = await startGateway(t, config);
  const seen = new Set<string | null>();
  for (let at = 0; at < 24; at += 1) {
    const headers = { 'x-culvert-session': `session-${at}` };
    const one = await ask(gateway, 'chat', 'talk', { headers });
    assert.equal((await ask(gateway, 'chat', 'talk', { headers })).variant, one.variant);
    seen.add(one.variant);
  }
  assert.deepEqual([...seen].sort(), ['a', 'b']);
});

test('the record of a request has its variant with its prompt, and the CSV has the variant', async (t) => {
  const gateway = await startGateway(t, config);
  const { id } = await ask(gateway, 'chat', 'only');
  const headers = { authorization: `Bearer ${adminKey}` };
  const response = await gateway.fetch(`/admin/v1/requests/${id}`, { headers });
  const record = (await response.json()) as { variant: string; route: { prompt?: string } };
  assert.deepEqual([record.variant, record.route.prompt], ['b', 'kind@1']);
  const from = new Date(Date.now() - 60_000).toISOString();
  const csv = await (await gateway.fetch(`/admin/v1/requests.csv?from=${from}`, { headers })).text();
  assert.match(csv.split('\n')[0]!, /variant/);
});

test('explain shows the variant of the caller, its target and its prompt', async (t) => {
  const gateway = await startGateway(t, config);
  const body = { model: 'only', messages: [{ role: 'user', content: 'x' }] };
  const headers = { authorization: `Bearer ${adminKey}` };
  const response = await gateway.fetch('/admin/v1/explain', { json: { body }, headers });
  const shown = (await response.json()) as { variant: string; candidates: { target: string }[] };
  assert.equal(shown.variant, 'b');
  assert.deepEqual(
    shown.candidates.map(({ target }) => target),
    ['up/other'],
  );
});

for (const [what, model, message] of [
  [
    'an unknown provider',
    { variants: { a: { targets: ['upp/m'] } } },
    /variants\.a\.targets\[0\]: there is no such provider \(did you mean 'up'\?\)/,
  ],
  [
    'an unknown prompt',
    { variants: { a: { prompt: 'kin@2' } } },
    /variants\.a\.prompt: there is no such prompt \(did you mean 'kind'\?\)/,
  ],
  ['a version that is not there', { variants: { a: { prompt: 'kind@2' } } }, /no version or label '2'/],
  ['no share', { variants: { a: { weight: 0 } } }, /at least one variant needs a weight above 0/],
  ['another type', { type: 'embedding', variants: { a: {} } }, /only a model of type chat has variants/],
] as const) {
  test(`a configuration names its place: ${what}`, () => {
    const models = { odd: { targets: ['up/m'], ...model } };
    const checked = checkConfigText(JSON.stringify({ ...config, models }, null, 1), 'culvert.yaml', {});
    assert.ok(!checked.ok);
    const shown = checked.errors.map((error) => `${error.path}: ${error.message}`).join('\n');
    assert.match(shown, message);
  });
}

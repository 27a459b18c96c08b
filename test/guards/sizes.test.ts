import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { checkConfigText } from '../../src/config/check.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { textsOf } from '../steps/texts-of.ts';
import { questions, startModel } from './start-model.ts';

/* The check `sizes` holds requests and answers to limits. */

const upstream = await startModel(after);
const sizes = (limits: object, more = {}) => ({ check: 'sizes', limits, action: 'block', ...more });
const guards = {
  chars: sizes({ chars: 40 }),
  tokens: sizes({ tokens: 10 }, { on: ['input'] }),
  turns: sizes({ turns: 3 }),
  attachments: sizes({ attachments: 1 }),
  routes: sizes({ chars: 20 }, { action: 'route', route_to: 'plain', on: ['input'] }),
  flags: sizes({ chars: 20 }, { action: 'flag' }),
  users: sizes({ chars: 20 }, { parts: ['user'] }),
};
const targets = [{ provider: 'openai', model: 'm' }];
const gateway = await startGateway({ after } as TestContext, {
  providers: { openai: { type: 'openai', base_url: upstream.url, api_key: 'k' } },
  guards,
  models: {
    plain: { targets },
    ...Object.fromEntries(Object.keys(guards).map((name) => [name, { targets, guards: [name] }])),
  },
});

async function post([path, json]: readonly [string, object]) {
  const response = await gateway.fetch(path, { json });
  return { status: response.status, text: await response.text(), guard: response.headers.get('x-culvert-guard') };
}

for (const format of Object.keys(questions)) {
  for (const stream of [false, true]) {
    const how = `${format}, ${stream ? 'streamed' : 'whole'}`;
    test(`a request beyond its characters or tokens is refused: ${how}`, async () => {
      upstream.says = () => 'Short.';
      const question = (model: string, text: string) => post(questions[format]!(model, text, stream));
      assert.equal((await question('chars', 'x'.repeat(40))).status, 200);
      const long = await question('chars', 'x'.repeat(41));
      assert.equal(long.status, 400, long.text);
      assert.match(long.text, /it has 41 chars, and the most are 40 chars/);
      assert.equal((await question('tokens', 'ö'.repeat(20))).status, 200);
      assert.match((await question('tokens', 'ö'.repeat(21))).text, /it has 11 tokens, and the most are 10 tokens/);
    });
    test(`an answer beyond its characters ends as filtered: ${how}`, async () => {
      upstream.says = () => 'One two three four five six seven eight nine ten.';
      const { status, text } = await post(questions[format]!('chars', 'Count.', stream));
      assert.ok(!textsOf(text, stream).includes('eight nine'), text);
      if (status === 200) assert.match(text, /content_filter|refusal|SAFETY/i);
      else assert.ok(status === 400 && text.includes('the most are 40 chars'), text);
    });
  }
}

const user = { role: 'user', content: 'Hi.' };
const assistant = { role: 'assistant', content: 'Hi.' };
const three = [user, assistant, user];

test('turns are messages of a conversation without system prompts', async () => {
  upstream.says = () => 'Short.';
  const chat = (messages: object[]) => post(['/v1/chat/completions', { model: 'turns', messages }]);
  assert.equal((await chat([{ role: 'system', content: 'Be kind.' }, ...three])).status, 200);
  assert.match((await chat([...three, assistant, user])).text, /it has 5 turns, and the most are 3 turns/);
  const messages = await post([
    '/v1/messages',
    { model: 'turns', max_tokens: 9, messages: [...three, assistant, user] },
  ]);
  const responses = await post(['/v1/responses', { model: 'turns', input: [...three, assistant, user] }]);
  const contents = [...three, assistant, user].map(({ role, content }) => ({
    role: role === 'user' ? 'user' : 'model',
    parts: [{ text: content }],
  }));
  const gemini = await post(['/v1beta/models/turns:generateContent', { contents }]);
  for (const { status, text } of [messages, responses, gemini]) {
    assert.equal(status, 400, text);
    assert.match(text, /it has 5 turns/);
  }
});

test('attachments are counted, and are no reason to refuse a request that has few', async () => {
  const data = 'data:image/png;base64,iVBORw0KGgo=';
  const pictures = [data, 'https://pictures.example/a.png'].map((url) => ({ type: 'image_url', image_url: { url } }));
  const chat = (count: number) =>
    post([
      '/v1/chat/completions',
      { model: 'attachments', messages: [{ role: 'user', content: [...pictures.slice(0, count)] }] },
    ]);
  assert.equal((await chat(1)).status, 200);
  assert.match((await chat(2)).text, /it has 2 attachments, and the most are 1 attachments/);
});

test('parts, flag and route', async () => {
  const messages = [{ role: 'system', content: 'x'.repeat(50) }, user];
  assert.equal((await post(['/v1/chat/completions', { model: 'users', messages }])).status, 200);
  assert.equal(
    (await post(['/v1/chat/completions', { model: 'flags', messages }])).guard,
    'flags=flagged:1; scanned=100%',
  );
  const routed = await post(['/v1/chat/completions', { model: 'routes', messages }]);
  assert.deepEqual([routed.status, routed.guard], [200, 'routes=routed:1; scanned=100%']);
});

test('a trial says which limit a request passes', async () => {
  const request = { messages: [...three, assistant] };
  const response = await fetch(`${gateway.url}/admin/v1/guards/test`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ guards: ['turns'], cases: [{ request, expect: ['turns'] }] }),
  });
  const { results } = (await response.json()) as { results: { verdict: string; found: string[] }[] };
  assert.deepEqual([results[0]?.verdict, results[0]?.found], ['blocked', ['turns']]);
});

test('bad limits are refused with their place', () => {
  const problem = (guard: string) => {
    const checked = checkConfigText(`guards:\n  a: { ${guard} }`, 'culvert.yaml', {});
    return checked.ok ? '' : `${checked.errors[0]?.path}: ${checked.errors[0]?.message}`;
  };
  assert.match(problem('check: sizes, action: block'), /the check sizes needs limits/);
  assert.match(problem('check: sizes, action: block, limits: {}'), /guards\.a\.limits: expected a limit/);
  assert.match(problem('check: sizes, action: mask, limits: { chars: 1 }'), /says no places to mask/);
  assert.match(problem('check: secrets, action: block, limits: { chars: 1 }'), /the check secrets has no limits/);
});

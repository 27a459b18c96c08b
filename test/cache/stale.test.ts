import assert from 'node:assert/strict';
import { after, beforeEach, type TestContext, test } from 'node:test';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { ask, type Format, formats } from './formats.ts';

/* What was right when it was kept may be wrong for whoever asks now: other rights, other guards, another configuration. */

const upstream = await startUpstream();
after(upstream.close);
const path = '/v1/chat/completions';
beforeEach(() => upstream.clear());
const asked = () => upstream.requests().filter(({ method }) => method === 'POST').length;
const key = (name: string, account: string, more: object = {}) => ({
  key: `sk-cv-stale-${name}`,
  account,
  name,
  ...more,
});
const keyOf = (name: string) => `sk-cv-stale-${name}`;
const mail = { check: 'personal-data', kinds: ['email'] };
const base = {
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  plans: { default: { windows: 'off', rpm: 'off' } },
  guards: {
    masks: { ...mail, action: 'mask' },
    blocks: { ...mail, action: 'block' },
    form: { check: 'json-schema', action: 'block', schema: { type: 'object' } },
  },
  prompts: {
    reply: {
      model: 'all',
      versions: {
        1: { messages: [{ role: 'system', content: 'Be brief.' }] },
        2: { messages: [{ role: 'system', content: 'Be kind.' }] },
      },
      labels: { production: 1 },
    },
  },
  keys: [
    key('plain', 'one'),
    key('masks', 'one', { guards: ['masks'] }),
    key('blocks', 'two', { guards: ['blocks'] }),
    key('form', 'two', { guards: ['form'] }),
    key('other', 'two'),
    key('narrow', 'one', { models: ['elsewhere'] }),
  ],
};
const targets = [{ provider: 'up', model: 'mock/ok' }];
const models = (scope: string, more: object = {}) => ({
  all: { targets, cache: { ttl: '1h', scope }, ...more },
  elsewhere: { targets },
});
const gateway = await startGateway({ after } as TestContext, { ...base, models: models('all') });
const every = Object.keys(formats) as Format[];
const both = [false, true];

async function admin(method: string, at: string, body?: object): Promise<Record<string, never>> {
  const response = await fetch(`${gateway.url}/admin/v1${at}`, {
    method,
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${at}: ${text}`);
  return text === '' ? {} : JSON.parse(text);
}

for (const scope of ['account', 'plan', 'all']) {
  for (const stream of both) {
    test(`keys with other guards share nothing that one of them may not see: scope ${scope}, ${stream}`, async () => {
      await gateway.reload({ ...base, models: models(scope) });
      upstream.script(path, ['always text=Write to made.up@example.org']);
      const sharers = scope === 'account' ? (['plain', 'masks'] as const) : (['plain', 'masks', 'blocks'] as const);
      for (const first of sharers) {
        const text = `${scope} ${stream} ${first}`;
        await ask(gateway, 'chat', { model: 'all', stream, text, key: keyOf(first) });
        for (const format of every) {
          for (const by of sharers) {
            const got = await ask(gateway, format, { model: 'all', stream, text, key: keyOf(by) });
            const { body, status, text: said } = got;
            const how = `${first} then ${by}, ${format}: ${body}`;
            assert.equal(said.includes('made.up@example.org'), by === 'plain', how);
            if (by === 'masks') assert.ok(said.includes('<EMAIL_1>'), how);
            if (by === 'plain') assert.ok(!said.includes('EMAIL_1'), how);
            if (by === 'blocks') assert.ok(status === 400 || /content_filter|refusal|SAFETY/.test(body), how);
          }
        }
      }
    });
  }
}

test('what a guard repaired for one key is no answer for a key without that guard', async () => {
  await gateway.reload({ ...base, models: models('all') });
  upstream.script(path, ['text=Not a form', 'text={"a":1}', 'text=Not a form']);
  const text = 'repaired';
  const formed = await ask(gateway, 'chat', { model: 'all', text, key: keyOf('form') });
  assert.equal(formed.text, '{"a":1}', formed.body);
  const free = await ask(gateway, 'chat', { model: 'all', text, key: keyOf('other') });
  assert.notEqual(free.text, '{"a":1}', free.body);
});

test('a key that may not use the model gets no answer that others have', async () => {
  await gateway.reload({ ...base, models: models('all') });
  const text = 'rights';
  assert.equal((await ask(gateway, 'chat', { model: 'all', text, key: keyOf('plain') })).cache, 'miss');
  for (const format of every) {
    const { status, body } = await ask(gateway, format, { model: 'all', text, key: keyOf('narrow') });
    assert.ok(status === 403 || status === 404, `${format} ${status}: ${body}`);
  }
});

test('a stored key loses its own answers with the right to a model, and all of them when it is revoked', async () => {
  await gateway.reload({ ...base, models: models('account') });
  await admin('POST', '/accounts', { id: 'acme' });
  const made = (await admin('POST', '/keys', { account: 'acme', name: 'app' })) as unknown as {
    id: string;
    key: string;
  };
  const beside = (await admin('POST', '/keys', { account: 'acme', name: 'beside' })) as unknown as { key: string };
  const question = (key: string) => ask(gateway, 'messages', { model: 'all', text: 'stored', key });
  assert.equal((await question(made.key)).cache, 'miss');
  assert.equal((await question(made.key)).cache, 'hit');
  const { version } = (await admin('GET', `/keys/${made.id}`)) as unknown as { version: number };
  await admin('PATCH', `/keys/${made.id}`, { version, models: ['elsewhere'] });
  const narrow = await question(made.key);
  assert.ok(narrow.status === 403 || narrow.status === 404, narrow.body);
  assert.equal((await question(beside.key)).cache, 'hit');
  await admin('DELETE', `/keys/${made.id}`);
  assert.equal((await question(made.key)).status, 401);
  assert.equal((await question(beside.key)).cache, 'miss');
});

test('a change of what is in the key asks anew, and the way back finds the earlier answer', async () => {
  const said = async (model: string) => {
    const { cache, body } = await ask(gateway, 'chat', { model, text: 'stale', key: keyOf('plain') });
    return cache ?? body;
  };
  const change = async (what: string, model: string, next: object) => {
    await gateway.reload(next as Record<string, unknown>);
    assert.deepEqual([await said(model), await said(model)], ['miss', 'hit'], what);
  };
  const first = { ...base, models: models('all') };
  await change('the beginning', 'all', first);
  await change('a guard of the model', 'all', { ...base, models: models('all', { guards: ['masks'] }) });
  const other = { ...base, guards: { ...base.guards, masks: { ...mail, action: 'block' } } };
  upstream.script(path, ['text=To made.up@example.org']);
  const mailed = () => ask(gateway, 'chat', { model: 'all', text: 'action', key: keyOf('plain') });
  assert.match((await mailed()).text, /<EMAIL_1>/);
  await gateway.reload({ ...other, models: models('all', { guards: ['masks'] }) });
  const acted = await mailed();
  assert.deepEqual([acted.cache, acted.text], ['hit', 'To '], acted.body);
  assert.match(acted.body, /"content_filter"/);
  await change('other targets', 'all', {
    ...base,
    models: models('all', { targets: [{ provider: 'up', model: 'mock/text=b' }] }),
  });
  await change('a price', 'all', {
    ...base,
    models: models('all', { targets: [{ ...targets[0], price: { input: 2 } }] }),
  });
  const variants = { variants: { a: { weight: 1, parameters: { temperature: 0.2 } } } };
  await change('a variant', 'all', { ...base, models: models('all', variants) });
  await change('another variant', 'all', {
    ...base,
    models: models('all', { variants: { a: { weight: 1, parameters: { temperature: 0.3 } } } }),
  });
  await change('a prompt', 'prompt/reply', first);
  const labelled = { ...base.prompts.reply, labels: { production: 2 } };
  await change('its label', 'prompt/reply', { ...first, prompts: { reply: labelled } });
  // The same targets by another name are another model.
  await change('another alias', 'elsewhere', { ...base, models: { ...models('all'), elsewhere: models('all').all } });
  await gateway.reload(first);
  assert.equal(await said('all'), 'hit');
  assert.ok(asked() > 8);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import { adminKey } from '../start-gateway.ts';
import { until } from '../until.ts';
import { refusedFor } from './plan-gateway.ts';
import { chatPath, hello, serve } from './served.ts';

// biome-ignore lint/suspicious/noExplicitAny: what a test looks at in an answer is what it asserts.
type Answer = any;

const target = { provider: 'up1', model: 'mock/ok', price: { input: 1_000, output: 1_000 } };
const parent = 'sk-cv-parent-0123456789';
const bounded = 'sk-cv-bounded-0123456789';
const narrow = 'sk-cv-narrow-0123456789';
const { gateway } = await serve({
  plans: { open: { rpm: 'off', budget: { month: 20 } } },
  accounts: { acme: { plan: 'open' } },
  keys: [
    { key: parent, account: 'acme', name: 'parent' },
    { key: bounded, account: 'acme', name: 'bounded', models: ['pri*'], limits: { rpm: 500, budget: { month: 2 } } },
    { key: narrow, account: 'acme', name: 'narrow', models: ['pri*'], limits: { rpm: 5, budget: { month: 2 } } },
  ],
  models: { priced: { targets: [target] }, other: { targets: [target] } },
});

async function make(body: unknown, key = parent) {
  const response = await gateway.fetch('/v1/keys/ephemeral', {
    headers: { authorization: `Bearer ${key}` },
    json: body,
  });
  return { status: response.status, body: (await response.json()) as Answer };
}

function chat(key: string, model = 'priced') {
  return gateway.fetch(chatPath, { headers: { authorization: `Bearer ${key}` }, json: { ...hello, model } });
}

async function status(key: string, model?: string): Promise<number> {
  const response = await chat(key, model);
  await response.text();
  return response.status;
}

async function admin(method: string, path: string, json?: unknown): Promise<Answer> {
  const headers = { authorization: `Bearer ${adminKey}` };
  return (await gateway.fetch(`/admin/v1${path}`, { method, headers, ...(json !== undefined && { json }) })).json();
}

test("OpenAI's SDK works with a key of a run, for its models and its USD, and its use is its parent's", async () => {
  const { status: made, body } = await make({ minutes: 5, models: ['priced'], usd: 0.001 });
  assert.equal(made, 200, JSON.stringify(body));
  assert.deepEqual([body.object, body.models, body.usd, body.rpm], ['ephemeral_key', ['priced'], 0.001, null]);
  assert.ok(Math.abs(body.expires_at - Date.now() / 1_000 - 300) < 10);
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: body.key, maxRetries: 0 });
  assert.deepEqual(
    (await client.models.list()).data.map(({ id }) => id),
    ['priced'],
  );
  const answer = await client.chat.completions.create({ model: 'priced', messages: [{ role: 'user', content: 'Hi' }] });
  assert.equal(answer.object, 'chat.completion');
  assert.equal(await status(body.key, 'other'), 403);
  const error = await refusedFor('run:budget', chat(body.key));
  const usage = async (key: string): Promise<Answer> =>
    (await gateway.fetch('/v1/usage', { headers: { authorization: `Bearer ${key}` } })).json();
  const { run } = await usage(body.key);
  assert.deepEqual([run.budget.allowed, run.budget.remaining], [0.001, 0]);
  assert.ok(run.budget.used >= 0.001);
  assert.equal((await usage((await make({})).body.key)).run.budget, null, 'a run without such a limit');
  assert.equal((await usage(parent)).run, undefined);
  assert.match(
    error.message,
    /: budget of this key of a run, 0\.\d+ of 0\.001 USD used\. Ask for another key of a run\./,
  );
  assert.equal(await status((await make({ usd: 0.001 })).body.key), 200, 'another run has its own');
  assert.equal(await status(parent), 200);
  const { data } = await admin('GET', '/usage?group_by=key&account=acme');
  assert.deepEqual(
    data.map(({ group }: Answer) => group),
    ['sk-cv-declared:acme/parent'],
  );
  const runs = await admin('GET', '/agent-sessions?key=sk-cv-declared:acme/parent');
  assert.deepEqual(
    runs.data.map(({ session, requests }: Answer) => [session.slice(0, 4), requests]),
    [
      ['run:', 1],
      ['run:', 1],
    ],
    'each run is a session of its parent, in which its requests are',
  );
  assert.ok(runs.data.every(({ cost_usd }: Answer) => cost_usd > 0));
});

test('what a run spends counts in the limits of its parent, and its own calls a minute stop it alone', async () => {
  const { body } = await make({ rpm: 2 }, narrow);
  assert.deepEqual([await status(body.key), await status(body.key)], [200, 200]);
  await refusedFor('run:minute', chat(body.key));
  // Making it was a call, too.
  assert.deepEqual([await status(narrow), await status(narrow)], [200, 200]);
  await refusedFor('minute', chat(narrow));
});

test('a key of a run ends with its parent, makes no further keys, and a changed one opens nothing', async () => {
  await admin('POST', '/accounts', { id: 'brief', plan: 'open' });
  const key = await admin('POST', '/keys', { account: 'brief', name: 'k' });
  const { body } = await make({}, key.key);
  assert.equal(await status(body.key), 200);
  assert.equal((await make({}, body.key)).status, 403);
  assert.equal(await status(`${body.key.slice(0, -2)}xx`), 401);
  assert.equal(await status('sk-cv-run-'), 401);
  await admin('PATCH', '/accounts/brief', { status: 'suspended' });
  await until('its account is suspended', async () => (await status(body.key)) === 403);
  await admin('PATCH', '/accounts/brief', { status: 'active' });
  await until('it works again', async () => (await status(body.key)) === 200);
  await admin('POST', `/keys/${key.id}/revoke`);
  await until('its parent is revoked', async () => (await status(body.key)) === 401);
});

for (const [body, param, words] of [
  [{ minutes: 0 }, 'minutes', /from 1 to 1440/],
  [{ minutes: 1_441 }, 'minutes', /from 1 to 1440/],
  [{ minutes: 1.5 }, 'minutes', /whole number/],
  [{ minutes: '5' }, 'minutes', /whole number/],
  [{ models: [] }, 'models', /1 to 100/],
  [{ models: 'priced' }, 'models', /list/],
  [{ models: ['priced', 7] }, 'models[1]', /name of a model/],
  [{ models: ['priced', 'nothing-such'] }, 'models[1]', /nothing-such/],
  [{ models: ['other'] }, 'models[0]', /other/],
  [{ usd: 0 }, 'usd', /above 0/],
  [{ usd: 2.01 }, 'usd', /at most 2 USD/],
  [{ rpm: 501 }, 'rpm', /at most 500 requests/],
  [{ rpm: 0 }, 'rpm', /whole number/],
  [{ ttl: 5 }, 'ttl', /expected minutes, models, usd or rpm/],
] as const) {
  test(`a key of a run that cannot be is refused by its field: ${JSON.stringify(body)}`, async () => {
    const refused = await make(body, bounded);
    assert.deepEqual([refused.status, refused.body.error.param], [400, param], JSON.stringify(refused.body));
    assert.match(refused.body.error.message, words);
  });
}

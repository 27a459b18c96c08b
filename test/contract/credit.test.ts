import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminKey, workersKnow } from '../start-gateway.ts';
import { refusedFor } from './plan-gateway.ts';
import { chatPath, hello, serve } from './served.ts';

// biome-ignore lint/suspicious/noExplicitAny: what a test looks at in an answer is what it asserts.
type Answer = any;

const target = { provider: 'up1', model: 'mock/ok', price: { input: 1_000, output: 1_000 } };
const { gateway } = await serve({
  plans: { open: { rpm: 'off' } },
  accounts: { file: { plan: 'open' } },
  keys: [{ key: 'sk-cv-file-0123456789', account: 'file' }],
  models: { priced: { targets: [target] } },
});

async function admin(method: string, path: string, json?: unknown) {
  const headers = { authorization: `Bearer ${adminKey}` };
  const response = await gateway.fetch(`/admin/v1${path}`, { method, headers, ...(json !== undefined && { json }) });
  const text = await response.text();
  return { status: response.status, text, body: (text.startsWith('{') ? JSON.parse(text) : null) as Answer };
}

async function accountWithKey(id: string) {
  await admin('POST', '/accounts', { id, plan: 'open' });
  const { body } = await admin('POST', '/keys', { account: id, name: 'k' });
  const headers = { authorization: `Bearer ${body.key}` };
  const send = () => gateway.fetch(chatPath, { headers, json: { ...hello, model: 'priced' } });
  return {
    send,
    async status() {
      const response = await send();
      await response.text();
      return response.status;
    },
    usage: async (): Promise<Answer> => (await gateway.fetch('/v1/usage', { headers })).json(),
  };
}

test('credit pays for requests until it is used up, and the next top-up lets them through again', async () => {
  const { send, status, usage } = await accountWithKey('prepaid');
  assert.deepEqual([await status(), (await usage()).credit], [200, undefined]);
  const added = await admin('POST', '/accounts/prepaid/credit', { usd: 0.001, note: 'cash', id: 'inv-1' });
  assert.equal(added.status, 200, added.text);
  assert.deepEqual([added.body.granted_usd, added.body.used_usd, added.body.remaining_usd], [0.001, 0, 0.001]);
  assert.deepEqual([added.body.data[0].usd, added.body.data[0].note, added.body.data[0].by], [0.001, 'cash', 'admin']);
  const first = await send();
  assert.match(first.headers.get('ratelimit-policy') ?? '', /"credit";q=0;qu="usd"(,|$)/);
  await first.text();
  // A worker says what a request cost once its answer is out.
  await workersKnow();
  const refused = await send();
  assert.equal(refused.headers.get('x-should-retry'), 'false');
  assert.equal(refused.headers.get('retry-after'), null);
  const error = await refusedFor('credit', refused);
  assert.match(
    error.message,
    /: the credit of this account, 0\.\d+ of 0\.001 USD used\. The next request passes once credit is added/,
  );
  assert.deepEqual([error.resets_at, error.allowed], [null, 0.001]);
  const { credit } = await usage();
  assert.equal(credit.granted, 0.001);
  assert.ok(credit.remaining < 0 && Math.abs(credit.remaining - (0.001 - credit.used)) < 1e-9);
  assert.equal((await admin('POST', '/accounts/prepaid/credit', { usd: 1 })).body.granted_usd, 1.001);
  assert.equal(await status(), 200);
});

test('a top-up is added once for its id, listed, exported and in the audit', async () => {
  await accountWithKey('once');
  const top = { usd: 5, note: 'Invoice "1", paid', id: 'inv-1' };
  assert.equal((await admin('POST', '/accounts/once/credit', top)).body.granted_usd, 5);
  const again = await admin('POST', '/accounts/once/credit', top);
  assert.deepEqual([again.status, again.body.granted_usd, again.body.data.length], [200, 5, 1]);
  const other = await admin('POST', '/accounts/once/credit', { ...top, usd: 6 });
  assert.deepEqual([other.status, /of another amount/.test(other.text)], [409, true]);
  const all = await Promise.all([1, 2, 3].map((n) => admin('POST', '/accounts/once/credit', { usd: n, id: `p-${n}` })));
  assert.deepEqual(
    all.map(({ status }) => status),
    [200, 200, 200],
  );
  assert.equal((await admin('POST', '/accounts/once/credit', { usd: -1, id: 'back' })).body.granted_usd, 10);
  const { text } = await admin('GET', '/accounts/once/credit.csv');
  assert.match(text, /^account,at,id,usd,note,by\r?\n/);
  assert.match(text, /once,20[^,]+,back,-1,,admin/);
  assert.match(text, /inv-1,5,"Invoice ""1"", paid",admin/);
  const { body } = await admin('GET', '/audit?action=account.credit&subject=once');
  assert.deepEqual(body.data.map(({ after }: Answer) => after.usd).toSorted(), [-1, 1, 2, 3, 5]);
});

test('an account without credit has none to take away: it would stop at once', async () => {
  const { status } = await accountWithKey('nothing');
  const refused = await admin('POST', '/accounts/nothing/credit', { usd: -5 });
  assert.deepEqual([refused.status, /no credit to take away/.test(refused.text)], [400, true]);
  assert.equal((await admin('GET', '/accounts/nothing/credit')).body.granted_usd, null);
  assert.equal(await status(), 200);
});

for (const [body, param] of [
  [{}, 'usd'],
  [{ usd: 0 }, 'usd'],
  [{ usd: 1e-12 }, 'usd'],
  [{ usd: 'ten' }, 'usd'],
  [{ usd: 2_000_000 }, 'usd'],
  [{ usd: 1, id: 'a b' }, 'id'],
  [{ usd: 1, note: 5 }, 'note'],
  [{ usd: 1, till: 'x' }, 'till'],
] as const) {
  test(`a top-up that cannot be is refused by its field: ${JSON.stringify(body)}`, async () => {
    const refused = await admin('POST', '/accounts/once/credit', body);
    assert.deepEqual([refused.status, refused.body.error.param], [400, param], refused.text);
  });
}

test('an account of the file takes no credit, and one that is not there is 404', async () => {
  assert.equal((await admin('POST', '/accounts/file/credit', { usd: 1 })).status, 409);
  assert.equal((await admin('POST', '/accounts/nobody/credit', { usd: 1 })).status, 404);
});

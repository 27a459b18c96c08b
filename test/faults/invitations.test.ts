import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { adminKey, startGateway } from '../start-gateway.ts';

const gateway = await startGateway({ after: after as never }, {});

async function invite(order: object) {
  const made = await post(
    '/admin/v1/invitations',
    { role: 'viewer', ...order },
    { authorization: `Bearer ${adminKey}` },
  );
  assert.equal(made.status, 201);
  return ((await made.json()) as { path: string }).path.split('=')[1]!;
}

function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  };
  return fetch(gateway.url + path, init);
}
const look = (body: unknown) => post('/dashboard/invitation', body);
const accept = (body: unknown, headers = {}) => post('/dashboard/invitation/accept', body, headers);

test('who opens a link sees what it gives, is logged in by accepting, and logs in by the key later', async () => {
  const token = await invite({ role: 'member', accounts: ['dev'] });
  for (const time of ['first', 'again']) {
    const seen = (await (await look({ token })).json()) as { invitation: Record<string, unknown> };
    const { role, accounts, created_by: by } = seen.invitation;
    assert.deepEqual([role, accounts, by], ['member', ['dev'], 'admin'], `a look uses nothing up: ${time}`);
  }
  const response = await accept({ token, name: ' Anna ' });
  assert.equal(response.status, 200);
  const { key, session } = (await response.json()) as { key: string; session: Record<string, unknown> };
  assert.deepEqual([session.name, session.role, session.login], ['Anna', 'member', 'operator_key']);
  const cookie = response.headers.getSetCookie()[0]!.split(';')[0]!;
  assert.match(response.headers.getSetCookie()[0]!, /HttpOnly; SameSite=Strict/);
  const listed = await fetch(`${gateway.url}/admin/v1/keys`, { headers: { cookie } });
  const { data } = (await listed.json()) as { data: { account: string }[] };
  assert.ok(data.length > 0 && data.every(({ account }) => account === 'dev'));
  assert.equal((await post('/dashboard/session', { admin_key: key })).status, 200);
  for (const again of [await look({ token }), await accept({ token, name: 'Eve' })]) {
    assert.equal(again.status, 401);
    assert.equal(again.headers.get('set-cookie'), null);
  }
});

test('a body that is no invitation is 400 at its field, and another site is refused', async () => {
  const token = await invite({});
  for (const [body, param] of [
    [{}, 'token'],
    [{ token: 7 }, 'token'],
    [{ token: 'x'.repeat(300) }, 'token'],
    [{ token, name: '' }, 'name'],
    [{ token, role: 'owner' }, 'role'],
    [{ token }, 'name'],
    [{ token, name: '<b>' }, 'name'],
  ] as const) {
    const response = await accept(body);
    assert.equal(response.status, 400, JSON.stringify(body));
    const { error } = (await response.json()) as { error: { param: string } };
    assert.equal(error.param, param);
  }
  assert.equal((await accept({ token, name: 'Eve' }, { origin: 'https://evil.example' })).status, 403);
  assert.equal((await accept({ token, name: 'Bert' })).status, 200, 'none of this used it up');
});

test('wrong links close an address like wrong keys', async () => {
  assert.equal((await look({ token: 'x'.repeat(43) })).status, 401);
  const answers: number[] = [];
  for (let tries = 0; tries < 12; tries += 1)
    answers.push((await accept({ token: 'y'.repeat(43), name: 'Eve' })).status);
  assert.equal(answers.at(-1), 429);
  assert.equal(answers[0], 401);
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import {
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
} from '@modelcontextprotocol/sdk/client/auth.js';
import OpenAI, { toFile } from 'openai';
import { WebSocket } from 'ws';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startTokenIssuer } from '../start-token-issuer.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';

/* Callers with tokens (JWT) of an issuer, in place of keys. */

const upstream = await startUpstream();
after(() => upstream.close());
const idp = await startTokenIssuer('culvert');
after(() => idp.close());
const settings = {
  issuer: idp.issuer,
  audience: 'culvert',
  account: { claim: 'org' },
  plans: { claim: 'groups', by: { bronze: 'default' } },
  models: { claim: 'models' },
  user: 'email',
  name: 'email',
};
const config = (tokens: readonly object[]) => ({
  providers: { up: { type: 'openai', api_key: 'a-key', base_url: `${upstream.url}/v1` } },
  models: { smart: { targets: ['up/mock/ok'] }, other: { targets: ['up/mock/ok'] } },
  plans: { default: { windows: 'off', rpm: 2 }, large: { windows: 'off', rpm: 1_000 } },
  accounts: { team: { plan: 'large' }, small: { plan: 'large' }, gone: { plan: 'default', status: 'suspended' } },
  callers: { tokens },
});
const gateway = await startGateway({ after: after as TestContext['after'] }, config([settings]));
const messages = [{ role: 'user' as const, content: 'hi' }];
let subject = 0;
/** A subject of its own unless it names one: each has its requests a minute. */
const signed = (claims: Record<string, unknown> = {}) =>
  idp.sign({ sub: `s${subject++}`, org: 'team', models: ['*'], groups: ['gold'], ...claims });

async function ask(token: string, body: object = {}, path = '/v1/chat/completions') {
  const answer = await fetch(gateway.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'smart', messages: [{ role: 'user', content: 'hi' }], ...body }),
  });
  const text = await answer.text();
  const error = answer.ok ? '' : (JSON.parse(text) as { error: { message: string } }).error.message;
  return { status: answer.status, error, id: answer.headers.get('x-request-id') };
}

test('an assistant without a key finds out who gives tokens, and a token of theirs opens /mcp', async () => {
  const ping = (path: string, token: Record<string, string> = {}) =>
    fetch(gateway.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...token },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
    });
  for (const path of ['/mcp', '/mcp/tickets']) {
    const refused = await ping(path);
    assert.equal(refused.status, 401);
    const { resourceMetadataUrl } = extractWWWAuthenticateParams(refused);
    assert.equal(resourceMetadataUrl?.href, `${gateway.url}/.well-known/oauth-protected-resource${path}`);
    const { resource, authorization_servers } = await discoverOAuthProtectedResourceMetadata(gateway.url + path, {
      resourceMetadataUrl: resourceMetadataUrl!,
    });
    assert.deepEqual([resource, authorization_servers], [gateway.url + path, [idp.issuer]]);
  }
  assert.equal((await ping('/mcp', { authorization: `Bearer ${await signed()}` })).status, 200);
  const elsewhere = await fetch(`${gateway.url}/v1/models`);
  assert.equal(elsewhere.headers.get('www-authenticate'), 'Bearer');
});

test('a server without issuers names none', async (t) => {
  const plain = await startGateway(t);
  const refused = await fetch(`${plain.url}/mcp`, { method: 'POST' });
  assert.deepEqual([refused.status, refused.headers.get('www-authenticate')], [401, 'Bearer']);
  assert.equal((await fetch(`${plain.url}/.well-known/oauth-protected-resource/mcp`)).status, 404);
});

test("a token opens what the claims say: OpenAI's SDK, the account, the end user", async () => {
  const token = await signed({ email: 'ada@example.org' });
  const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: token, maxRetries: 0 });
  const answer = await openai.chat.completions.create({ model: 'smart', messages, user: 'somebody else' });
  assert.equal(answer.choices.length, 1);
  const rows = await gateway.fetch('/admin/v1/requests?account=team&limit=1', {
    headers: { authorization: `Bearer ${adminKey}` },
  });
  const [row] = ((await rows.json()) as { data: { user: string; key: string }[] }).data;
  assert.equal(row!.user, 'ada@example.org');
  assert.match(row!.key, /^token_/);
});

test('claims bound the models and choose the plan', async () => {
  const token = await signed({ models: ['other'] });
  assert.equal((await ask(token, { model: 'other' })).status, 200);
  const { status, error } = await ask(token);
  assert.equal(status, 403, error);
  assert.match(error, /smart/);
  const small = await signed({ org: 'small', groups: ['bronze', 'silver'] });
  const answers = [await ask(small), await ask(small), await ask(small)];
  assert.deepEqual(
    answers.map((answer) => answer.status),
    [200, 200, 429],
  );
  assert.equal((await ask(await signed({ models: null }))).status, 403, 'no claim, no models');
});

test('a claim is found by its path, as Keycloak has roles', async () => {
  const inKeycloak = { claim: 'resource_access.app.example.roles' };
  const plans = { claim: 'realm_access.roles', by: { silver: 'default' } };
  const other = await startTokenIssuer('culvert');
  after(() => other.close());
  const at = { ...settings, issuer: other.issuer, account: 'team', plans, models: inKeycloak };
  const world = await startGateway({ after: after as TestContext['after'] }, config([at]));
  const token = await other.sign({
    realm_access: { roles: ['silver'] },
    resource_access: { 'app.example': { roles: ['smart'] } },
  });
  const answers = ['smart', 'other', 'smart'].map(
    (model) => () =>
      world.fetch('/v1/chat/completions', { json: { model, messages }, headers: { authorization: `Bearer ${token}` } }),
  );
  const statuses: number[] = [];
  for (const ask of answers) statuses.push((await ask()).status);
  assert.deepEqual(statuses, [200, 403, 429]);
});

test('a browser sends its token as the subprotocol of a WebSocket', async () => {
  const refusal = async (token: string) => {
    const protocols = ['realtime', `openai-insecure-api-key.${token}`];
    const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/realtime?model=smart`, protocols);
    socket.on('error', () => undefined);
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
    response.resume();
    return response.statusCode;
  };
  assert.equal(await refusal(await signed({ models: ['other'] })), 403, 'known, and not allowed this model');
  assert.equal(await refusal(await signed({ aud: 'another' })), 401);
});

test('what is wrong with a token is said', async () => {
  const now = Math.floor(Date.now() / 1_000);
  const wrong: [claims: Record<string, unknown>, status: number, error: RegExp][] = [
    [{ exp: now - 3_600 }, 401, /expired/],
    [{ nbf: now + 3_600 }, 401, /not valid yet.*'nbf'/],
    [{ aud: 'another' }, 401, /'aud'/],
    [{ aud: null }, 401, /'aud'/],
    [{ iss: 'https://elsewhere.example' }, 401, /issuer/],
    [{ sub: null }, 401, /has no claim 'sub'/],
    [{ org: null }, 401, /'org'/],
    [{ org: 7 }, 401, /'org'/],
    [{ org: 'nobody' }, 403, /'nobody'/],
    [{ org: '__proto__' }, 403, /'__proto__'/],
    [{ org: 'gone' }, 403, /suspended/],
  ];
  for (const [claims, status, error] of wrong) {
    const answer = await ask(await signed(claims));
    assert.deepEqual(
      [answer.status, error.test(answer.error)],
      [status, true],
      `${JSON.stringify(claims)}: ${answer.error}`,
    );
  }
});

test('what nobody has signed opens nothing', async () => {
  const [head = '', payload = '', signature = ''] = (await signed()).split('.');
  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const jwks = await fetch(`${idp.issuer}/keys`);
  const { keys } = (await jwks.json()) as { keys: { x: string }[] };
  const { createHmac } = await import('node:crypto');
  const hs = `${encoded({ alg: 'HS256', kid: 'key-0' })}.${payload}`;
  const other = encoded({ ...JSON.parse(Buffer.from(payload, 'base64url').toString()), org: 'gone' });
  const forged = [
    `${encoded({ alg: 'none' })}.${payload}.`,
    `${encoded({ alg: 'none', kid: 'key-0' })}.${payload}.${signature}`,
    `${hs}.${createHmac('sha256', keys[0]!.x).update(hs).digest('base64url')}`,
    `${head}.${other}.${signature}`,
    `${head}.${payload}.${signature.slice(2)}AA`,
    `${head}.${payload}.`,
    'eyJ.eyJ.eyJ',
    `${encoded({ alg: 'ES256', jwk: keys[0] })}.${payload}.${signature.slice(3)}AAA`,
  ];
  for (const token of forged) assert.equal((await ask(token)).status, 401, token);
  const huge = await ask(await signed({ padding: 'x'.repeat(9_000) }));
  assert.equal(huge.status, 401);
  const onAdmin = await fetch(`${gateway.url}/admin/v1/accounts`, {
    headers: { authorization: `Bearer ${await signed()}` },
  });
  assert.equal(onAdmin.status, 401);
});

test('keys are read once, and again for a new one', async () => {
  const before = idp.asked.filter((path) => path === '/keys').length;
  for (let i = 0; i < 5; i++) assert.equal((await ask(await signed())).status, 200);
  assert.equal(idp.asked.filter((path) => path === '/keys').length, before);
  const unheard = await ask(await idp.sign({ org: 'team', models: ['*'] }, { kid: 'unheard' }));
  assert.equal(unheard.status, 401);
  assert.match(unheard.error, /'kid'.*30 seconds/, 'its signature may be right');
});

test('each subject has collections of its own', async () => {
  const put = async (token: string) =>
    fetch(`${gateway.url}/v1/vectors/collections/notes`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ vectors: { size: 2, distance: 'Cosine' } }),
    });
  const names = async (token: string) => {
    const answer = await fetch(`${gateway.url}/v1/vectors/collections`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return JSON.stringify(await answer.json());
  };
  const [ada, bob] = [await signed({ sub: 'ada' }), await signed({ sub: 'bob' })];
  assert.equal((await put(ada)).status, 200);
  assert.match(await names(ada), /notes/);
  assert.doesNotMatch(await names(bob), /notes/);
  assert.match(await names(await signed({ sub: 'ada', iat: 1 })), /notes/, 'another token of the same subject');
});

test('an upload that a caller began goes on without its token where nobody has seen it, while its issuer counts', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-tokens-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const stored = (tokens: readonly object[]) => ({ ...config(tokens), storage: { data_dir: folder } });
  const first = await startGateway(t, stored([settings]));
  const begun = await first.fetch('/upload/v1beta/files', {
    json: { file: { display_name: 'steps.txt' } },
    headers: {
      authorization: `Bearer ${await signed()}`,
      'x-goog-upload-protocol': 'resumable',
      'x-goog-upload-command': 'start',
    },
  });
  assert.equal(begun.status, 200, await begun.text());
  const { pathname, search } = new URL(begun.headers.get('x-goog-upload-url') ?? '');
  await first.close(0);
  const next = await startGateway(t, stored([settings]));
  const send = (command: string, body = '') =>
    fetch(next.url + pathname + search, { method: 'POST', body, headers: { 'x-goog-upload-command': command } });
  const sent = await send('upload', 'one ');
  assert.equal(sent.headers.get('x-goog-upload-size-received'), '4', await sent.text());
  await next.reload(stored([]));
  assert.equal((await send('upload, finalize', 'two')).status, 401);
});

test('a batch has the rights of the token that began it, whichever came last, also after a restart', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-tokens-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const stored = { ...config([settings]), storage: { data_dir: folder } };
  const first = await startGateway(t, stored);
  const narrow = await signed({ sub: 'both', models: ['other'] });
  const wide = await signed({ sub: 'both' });
  const clientOf = (url: string, apiKey: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
  const lines = ['smart', 'other']
    .map((model) => ({ method: 'POST', url: '/v1/chat/completions', custom_id: model, body: { model, messages } }))
    .map((line) => JSON.stringify(line))
    .join('\n');
  const begin = async (token: string) => {
    const client = clientOf(first.url, token);
    const file = await client.files.create({ file: await toFile(Buffer.from(lines), 'lines.jsonl'), purpose: 'batch' });
    const order = { input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const;
    return (await client.batches.create(order)).id;
  };
  /** How its two lines went. */
  const countsOf = async (url: string, id: string) => {
    const client = clientOf(url, wide);
    await until('it has ended', async () => (await client.batches.retrieve(id)).status === 'completed');
    const { completed, failed } = (await client.batches.retrieve(id)).request_counts!;
    return { completed, failed };
  };
  // Each token has been seen before the other one's batch begins.
  const ids = [await begin(narrow), await begin(wide), await begin(narrow)];
  assert.deepEqual(await Promise.all(ids.map((id) => countsOf(first.url, id))), [
    { completed: 1, failed: 1 },
    { completed: 2, failed: 0 },
    { completed: 1, failed: 1 },
  ]);
  const unended = await begin(narrow);
  await first.close(0);
  const next = await startGateway(t, stored);
  await clientOf(next.url, wide).models.list();
  assert.deepEqual(await countsOf(next.url, unended), { completed: 1, failed: 1 });
});

test('an issuer that leaves the file lets nobody in any more', async (t) => {
  const alone = await startGateway(t, config([settings]));
  const token = await signed();
  const status = async () => {
    const answer = await alone.fetch('/v1/models', { headers: { authorization: `Bearer ${token}` } });
    return answer.status;
  };
  assert.equal(await status(), 200);
  await alone.reload(config([]));
  assert.equal(await status(), 401);
  await alone.reload(config([{ ...settings, account: 'team', jwks_url: `${idp.issuer}/keys` }]));
  assert.equal(await status(), 200);
});

test('an issuer that cannot be reached is a 503 that names it', async (t) => {
  const down = await startTokenIssuer('culvert');
  t.after(() => down.close());
  const alone = await startGateway(t, config([{ ...settings, issuer: down.issuer }]));
  const token = await down.sign({ org: 'team', models: ['*'] });
  down.state.up = false;
  const answer = await alone.fetch('/v1/models', { headers: { authorization: `Bearer ${token}` } });
  assert.equal(answer.status, 503);
  assert.match(await answer.text(), new RegExp(down.issuer));
});

import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { after, type TestContext, test } from 'node:test';
import { exportJWK, generateKeyPair } from 'jose';
import { tokenAlgorithms } from '../../src/config/schema/schema-callers.ts';
import { adminKey, startGateway, testProcesses } from '../start-gateway.ts';
import { startTokenIssuer } from '../start-token-issuer.ts';
import { startUpstream } from '../start-upstream.ts';

/* Tokens that nobody should have sent, and issuers that answer badly. */

const upstream = await startUpstream();
after(() => upstream.close());
const idp = await startTokenIssuer('culvert');
after(() => idp.close());
const config = (...tokens: object[]) => ({
  providers: { up: { type: 'openai', api_key: 'a-key', base_url: `${upstream.url}/v1` } },
  models: { smart: { targets: ['up/mock/ok'] } },
  accounts: { team: {} },
  callers: { tokens: tokens.map((token) => ({ audience: 'culvert', account: 'team', ...token })) },
});
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    ...config({ issuer: idp.issuer, user: 'email' }),
    routes: { 'not-for-ada': { when: 'user == "ada"', refuse: { message: 'Not for Ada.', status: 403 } } },
  },
);

async function call(token: string, path = '/v1/models', body: object | null = null, at = gateway, user?: string) {
  const answer = await fetch(at.url + path, {
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...(user !== undefined && { 'x-culvert-user': user }),
    },
    ...(body !== null && { method: 'POST', body: JSON.stringify(body) }),
  });
  return { status: answer.status, text: await answer.text(), id: answer.headers.get('x-culvert-request-id') };
}

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const chat = { model: 'smart', messages: [{ role: 'user', content: 'hi' }] };

test('tokens of odd forms are refused as tokens, whatever their parts hold', async () => {
  const { issuer: iss } = idp;
  const heads: unknown[] = [
    { alg: 'ES256', kid: 7 },
    { alg: 'ES256', kid: ['key-0'] },
    { alg: 'ES256', kid: 'key-0', crit: ['b64'], b64: false },
    { alg: 'ES256', kid: 'key-0', crit: 'all' },
    { alg: 7 },
    { alg: 'ES256', jku: 'http://127.0.0.1:1/keys', x5u: 'http://127.0.0.1:1/' },
    { alg: 'RS256', kid: 'key-0' },
    { alg: 'dir', enc: 'A256GCM', zip: 'DEF' },
    {},
  ];
  const payloads: unknown[] = [
    { iss: 5 },
    { iss: [iss] },
    { iss: null },
    { iss: { toString: 'x' } },
    [iss],
    { iss: `${iss}/` },
  ];
  const good = { iss, aud: 'culvert', sub: 'ada', exp: Math.floor(Date.now() / 1_000) + 60 };
  const tokens = [
    ...heads.map((head) => `${part(head)}.${part(good)}.AAAA`),
    ...payloads.map((payload) => `${part({ alg: 'ES256', kid: 'key-0' })}.${part(payload)}.AAAA`),
    `${part({ alg: 'ES256' })}.${Buffer.from('{"iss":').toString('base64url')}.AAAA`,
    `${part({ alg: 'ES256' })}.${Buffer.from(`${'['.repeat(3_000)}`).toString('base64url')}.AAAA`,
    `${part({ alg: 'ES256' })}.${Buffer.from([0xff, 0xfe, 0x7b]).toString('base64url')}.AAAA`,
  ];
  for (const token of tokens) {
    const { status, text } = await call(token);
    assert.equal(status, 401, `${token}: ${text}`);
  }
  for (const claims of [{ sub: 7 }, { sub: ['ada'] }, { exp: 'soon' }, { nbf: {} }, { aud: [7, null] }, { aud: {} }]) {
    assert.equal((await call(await idp.sign(claims))).status, 401, JSON.stringify(claims));
  }
});

for (const alg of tokenAlgorithms) {
  test(`a token of ${alg} is good to the last bit, and not with another`, async (t) => {
    const signer = await startTokenIssuer('culvert', alg);
    t.after(() => signer.close());
    const alone = await startGateway(t, config({ issuer: signer.issuer }));
    // Numbers of ECDSA begin with zeros, or with a bit that is a sign elsewhere, in some of its signatures.
    for (let nth = 0; nth < 12; nth++) {
      const { status, text } = await call(await signer.sign({ sub: `s${nth}` }), '/v1/models', null, alone);
      assert.equal(status, 200, text);
    }
    const [head = '', claims = '', signature = ''] = (await signer.sign({ sub: 'ada' })).split('.');
    const bytes = Buffer.from(signature, 'base64url');
    const changed = Buffer.from(bytes);
    changed[20] = (changed[20] ?? 0) ^ 1;
    const forged = {
      'another signature': [head, claims, changed.toString('base64url')],
      'other claims': [head, part({ iss: signer.issuer, aud: 'culvert', sub: 'root' }), signature],
      'another head': [part({ alg, kid: 'key-0', typ: 'JWT' }), claims, signature],
      'no signature': [head, claims, ''],
      'half of it': [head, claims, bytes.subarray(0, bytes.length / 2).toString('base64url')],
      'more than it': [head, claims, Buffer.concat([bytes, bytes]).toString('base64url')],
      zeros: [head, claims, Buffer.alloc(bytes.length).toString('base64url')],
    };
    for (const [what, parts] of Object.entries(forged)) {
      assert.equal((await call(parts.join('.'), '/v1/models', null, alone)).status, 401, what);
    }
    const other = await startGateway(
      t,
      config({ issuer: signer.issuer, algorithms: tokenAlgorithms.filter((one) => one !== alg) }),
    );
    const { status, text } = await call(await signer.sign({}), '/v1/models', null, other);
    assert.equal(status, 401);
    assert.match(text, /signed in a way that is not allowed/);
  });
}

test('a token of an RSA key that is too short is refused', async (t) => {
  const issuer = await startTokenIssuer('culvert', 'RS256');
  t.after(() => issuer.close());
  const good = { iss: issuer.issuer, aud: 'culvert', sub: 'ada', exp: Math.floor(Date.now() / 1_000) + 60 };
  for (const [modulusLength, status] of [
    [1_024, 401],
    [2_048, 200],
  ] as const) {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength });
    const kid = `bits-${modulusLength}`;
    const signed = `${part({ alg: 'RS256', kid })}.${part(good)}`;
    issuer.state.keys = [{ ...publicKey.export({ format: 'jwk' }), kid, alg: 'RS256' }];
    const fresh = await startGateway(t, config({ issuer: issuer.issuer }));
    const token = `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`;
    assert.equal((await call(token, '/v1/models', null, fresh)).status, status, kid);
  }
});

test('a flood of unknown keys asks the issuer once', async () => {
  assert.equal((await call(await idp.sign({}))).status, 200);
  const before = idp.asked.length;
  const floods = await Promise.all(
    Array.from({ length: 100 }, async (_, at) => call(await idp.sign({}, { kid: `made-up-${at}` }))),
  );
  assert.deepEqual(new Set(floods.map(({ status }) => status)), new Set([401]));
  // The document and the keys, one time each at most, by each process.
  assert.ok(idp.asked.length - before <= 2 * testProcesses, `${idp.asked.length - before} questions`);
});

for (const [what, harm] of Object.entries({
  'answers errors': { up: false },
  'has no keys in its answer': { text: '{"keys":7}' },
  'answers with something else': { text: '<html>' },
  'answers with too much': { text: `{"keys":[],"x":"${'x'.repeat(1_000_000)}"}` },
})) {
  for (const where of ['its document', 'jwks_url'] as const) {
    test(`an issuer of ${where} that ${what} is a 503, and is not asked for every token`, async (t) => {
      const bad = await startTokenIssuer('culvert');
      t.after(() => bad.close());
      const jwks = where === 'jwks_url' ? { jwks_url: `${bad.issuer}/keys` } : {};
      const alone = await startGateway(t, config({ issuer: bad.issuer, ...jwks }));
      Object.assign(bad.state, harm);
      for (let nth = 0; nth < 20; nth++) {
        const { status, text } = await call(await bad.sign({ sub: `s${nth}` }), '/v1/models', null, alone);
        assert.equal(status, 503, text);
      }
      // One look lasts for some seconds.
      assert.ok(bad.asked.length <= 4 * testProcesses, `${bad.asked.length} questions: ${bad.asked}`);
    });
  }
}

test('while an issuer hangs, callers whose key is known pass at once, and made-up keys ask it once', async (t) => {
  const slow = await startTokenIssuer('culvert');
  t.after(() => slow.close());
  // Each worker asks the issuer for itself (docs/scale-out.md).
  const alone = await startGateway(t, { ...config({ issuer: slow.issuer }), server: { processes: 1 } });
  const known = await call(await slow.sign({}), '/v1/models', null, alone);
  assert.equal(known.status, 200);
  slow.state.hangs = true;
  const before = slow.asked.length;
  const forged = Promise.all(
    Array.from({ length: 50 }, async (_, at) =>
      call(await slow.sign({}, { kid: `k${at}` }), '/v1/models', null, alone),
    ),
  );
  const fresh = await call(await slow.sign({ sub: 'bob' }), '/v1/models', null, alone);
  assert.equal(fresh.status, 200);
  for (const { status } of await forged) assert.ok(status === 401 || status === 503, `${status}`);
  assert.ok(slow.asked.length - before <= 1);
  assert.equal((await call(await slow.sign({ sub: 'eve' }), '/v1/models', null, alone)).status, 200);
});

test('an issuer whose keys have no ids may have several, and a broken one among them', async (t) => {
  const many = await startTokenIssuer('culvert');
  t.after(() => many.close());
  const [own] = many.state.keys;
  const { kid: _, ...unnamed } = own!;
  const { publicKey } = await generateKeyPair('ES256');
  const other = { ...(await exportJWK(publicKey)), alg: 'ES256' };
  many.state.keys = [{ ...other, x: 'AAAA' }, other, unnamed];
  const alone = await startGateway(t, config({ issuer: many.issuer }));
  const answer = await call(await many.sign({}, { kid: null }), '/v1/models', null, alone);
  assert.equal(answer.status, 200, answer.text);
  const token = await many.sign({ sub: 'ada' }, { kid: null });
  const [head, , signature] = token.split('.');
  const forged = `${head}.${part({ iss: many.issuer, aud: 'culvert', sub: 'root' })}.${signature}`;
  assert.equal((await call(forged, '/v1/models', null, alone)).status, 401);
});

test('neither body nor header names an end user for a token that should and does not', async () => {
  const token = await idp.sign({ sub: 'eve' });
  const { status, id } = await call(token, '/v1/chat/completions', { ...chat, user: 'ada' }, gateway, 'ada');
  assert.equal(status, 200);
  assert.equal((await call(await idp.sign({ sub: 'a', email: 'ada' }), '/v1/chat/completions', chat)).status, 403);
  const shown = await gateway.fetch(`/admin/v1/requests/${id}`, { headers: { authorization: `Bearer ${adminKey}` } });
  const row = (await shown.json()) as { user: string | null };
  assert.equal(row.user, null);
});

test('a token makes no key of a run, which would not work', async () => {
  const token = await idp.sign({ sub: 'agent' });
  const made = await call(token, '/v1/keys/ephemeral', { minutes: 5 });
  assert.equal(made.status, 403, made.text);
  assert.match(made.text, /without a key of this server/);
});

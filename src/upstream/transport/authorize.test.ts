import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listenAndKeep, send, testTransport } from '../../../test/loopback-transport.ts';
import { type Authorizer, NotAuthorized, type UpstreamRequest } from './upstream-call.ts';

const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';

for (const [when, give] of [
  ['at once', (headers: readonly string[]) => headers],
  ['later', (headers: readonly string[]) => new Promise<readonly string[]>((done) => setImmediate(done, headers))],
] as const) {
  test(`an authorizer that answers ${when} sees what is sent and adds its headers`, async (t) => {
    const upstream = await listenAndKeep(t, answer);
    const transport = testTransport(t);
    const seen: UpstreamRequest[] = [];
    const authorize: Authorizer = (request) => {
      seen.push(request);
      return give(['x-proof', `of ${request.method} ${request.path} ${request.body}`]);
    };
    for (let i = 0; i < 2; i++) {
      const told = send(transport, upstream.origin, { path: '/v1/signed', body: 'words', authorize });
      assert.equal(await told.end, 'ended');
    }
    assert.equal(seen.length, 2);
    assert.deepEqual(seen[0]?.headers, ['content-type', 'application/json']);
    for (const head of upstream.heads) {
      assert.match(head, /^x-proof: of POST \/v1\/signed words\r$/im);
      assert.match(head, /^content-type: application\/json\r$/im);
    }
  });
}

for (const [how, authorize] of [
  [
    'throws',
    () => {
      throw new NotAuthorized('profile work was tried');
    },
  ],
  ['rejects', () => Promise.reject(new NotAuthorized('profile work was tried'))],
] as const) {
  test(`an authorizer that ${how} fails the request with its own words, after send has returned`, async (t) => {
    const upstream = await listenAndKeep(t, answer);
    const transport = testTransport(t);
    const told = send(transport, upstream.origin, { authorize });
    assert.equal(told.ends, 0);
    assert.deepEqual(await told.end, { kind: 'not-authorized', message: 'profile work was tried' });
    assert.equal(upstream.heads.length, 0);
    assert.equal(transport.counts.running, 0);
  });
}

test('words of any other error stay here: they may hold a secret', async (t) => {
  const upstream = await listenAndKeep(t, answer);
  const authorize = () => Promise.reject(new Error('key AKIA… is wrong'));
  const end = await send(testTransport(t), upstream.origin, { authorize }).end;
  assert.deepEqual(end, { kind: 'not-authorized', message: 'the request could not be authorized' });
});

test('a request that is aborted while it is authorized is never sent', async (t) => {
  const upstream = await listenAndKeep(t, answer);
  const transport = testTransport(t);
  const gate = Promise.withResolvers<readonly string[]>();
  const told = send(transport, upstream.origin, { authorize: () => gate.promise });
  told.call.abort();
  assert.equal(transport.counts.running, 0);
  gate.resolve([]);
  assert.equal(await send(transport, upstream.origin).end, 'ended');
  assert.equal(upstream.heads.length, 1);
  assert.equal(told.ends, 0);
});

test('a transport that closes ends what waits for its authorizer', async (t) => {
  const upstream = await listenAndKeep(t, answer);
  const transport = testTransport(t);
  const told = send(transport, upstream.origin, { authorize: () => new Promise(() => {}) });
  transport.destroy();
  assert.equal(((await told.end) as { kind: string }).kind, 'reset');
});

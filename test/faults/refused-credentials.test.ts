import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import { test } from 'node:test';
import { listening } from '../forward-proxy.ts';
import * as loopback from '../loopback-certificate.ts';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

const messages = [{ role: 'user', content: 'Hello' }];

test('a credential that its provider refuses is told as what it is: no retry helps, the operator must act', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const provider = { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' };
  const gateway = await startGateway(t, {
    providers: { stale: provider, busy: provider },
    models: { refused: { targets: ['stale/mock'] }, mixed: { targets: ['stale/mock-401', 'busy/mock-503'] } },
  });
  await gateway.modelsKnown;
  const failing = async (model: string) => {
    const answer = await gateway.fetch('/v1/chat/completions', { json: { model, messages } });
    assert.equal(answer.status, 502);
    const { error } = (await answer.json()) as { error: { message: string } };
    return { retry: answer.headers.get('x-should-retry'), after: answer.headers.get('retry-after'), ...error };
  };
  for (const status of [401, 403]) {
    upstream.script('/v1/chat/completions', [`status=${status}`]);
    const { message, retry, after } = await failing('refused');
    assert.match(message, /A retry does not help: the operator must change the credential of provider stale\.$/);
    assert.deepEqual([retry, after], ['false', null]);
  }
  // Another provider may have recovered by then.
  upstream.script('/v1/chat/completions', Array(8).fill('status=503'));
  const { message, retry } = await failing('mixed');
  assert.match(message, /This is transient: retry the request\.$/);
  assert.equal(retry, 'true');
});

test('a provider whose key was refused is asked at once when the operator has changed it', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const config = (key: string) => ({
    providers: {
      main: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: key },
      spare: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' },
    },
    models: {
      smart: {
        targets: [
          { provider: 'main', model: 'mock' },
          { provider: 'spare', model: 'mock', priority: 2 },
        ],
      },
    },
  });
  const gateway = await startGateway(t, config('stale'));
  await gateway.modelsKnown;
  const answering = async () =>
    (await gateway.fetch('/v1/chat/completions', { json: { model: 'smart', messages } })).headers.get(
      'x-culvert-provider',
    );
  upstream.script('/v1/chat/completions', ['status=401']);
  assert.equal(await answering(), 'spare');
  await gateway.reload(config('stale'));
  assert.equal(await answering(), 'spare', 'nothing has changed');
  await gateway.reload(config('fresh'));
  assert.equal(await answering(), 'main');
});

test('what only the operator can mend is told as that: no model of that name, and no quota', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const provider = { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' };
  const gateway = await startGateway(t, {
    providers: { gone: provider, poor: provider, limited: provider },
    models: {
      gone: { targets: ['gone/mock'] },
      poor: { targets: ['poor/mock'] },
      both: { targets: ['gone/mock', 'poor/mock'] },
      later: { targets: ['gone/mock', 'limited/mock'] },
    },
  });
  await gateway.modelsKnown;
  const failing = async (model: string) => {
    const answer = await gateway.fetch('/v1/chat/completions', { json: { model, messages } });
    const { error } = (await answer.json()) as { error: { message: string } };
    return { status: answer.status, retry: answer.headers.get('x-should-retry'), message: error.message };
  };
  const noModel = 'status=400;message=Invalid model: mock;code=invalid_model';
  const noQuota = 'status=429;message=You exceeded your current quota;code=insufficient_quota';
  const unknownModel = noModel.replace('400', '422');
  for (const [model, specs, words] of [
    [
      'gone',
      [unknownModel],
      /must check the base_url, and name a model that this credential can use, at provider gone\.$/,
    ],
    ['gone', [noModel], /must check the base_url, and name a model that this credential can use, at provider gone\.$/],
    ['poor', [noQuota], /must raise the quota or the credit at provider poor\.$/],
    ['both', [noModel, noModel], /A retry does not help: the operator must /],
  ] as const) {
    upstream.clear();
    upstream.script('/v1/chat/completions', specs);
    const { status, retry, message } = await failing(model);
    assert.deepEqual([status, retry], [502, 'false'], message);
    assert.match(message, words);
  }
  // One that is only limited for a while may answer then.
  upstream.clear();
  upstream.script('/v1/chat/completions', ['status=429;retry-after=40', `always ${noModel}`]);
  for (let turn = 0; turn < 2; turn++) {
    const { retry, message } = await failing('later');
    assert.equal(retry, 'true', message);
  }
});

test('a certificate that is over, or that nobody vouches for, is no accident either', async (t) => {
  const ports = [loopback.expired, loopback].map(({ key, cert }) => listening(t, createServer({ key, cert })));
  const [over, unknown] = (await Promise.all(ports)).map((port) => `https://127.0.0.1:${port}/v1`);
  const gateway = await startGateway(t, {
    providers: {
      over: { type: 'openai', base_url: over, api_key: 'k', tls: { ca: loopback.expired.cert } },
      unknown: { type: 'openai', base_url: unknown, api_key: 'k' },
    },
    models: { over: { targets: ['over/mock'] }, unknown: { targets: ['unknown/mock'] } },
  });
  for (const [model, code] of [
    ['over', 'CERT_HAS_EXPIRED'],
    ['unknown', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ]) {
    const answer = await gateway.fetch('/v1/chat/completions', { json: { model, messages } });
    const { error } = (await answer.json()) as { error: { message: string } };
    assert.deepEqual([answer.status, answer.headers.get('x-should-retry')], [502, 'false'], error.message);
    const mend = `the operator must have the certificate renewed or trusted (tls.ca) of provider ${model}.`;
    assert.ok(error.message.includes(code!) && error.message.endsWith(mend), error.message);
  }
});

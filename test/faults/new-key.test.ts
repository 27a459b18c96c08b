import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SignatureV4 } from '@smithy/signature-v4';
import { Sha256 } from '../clients/sha256.ts';
import { adminKey, overUpstreams, startGateway } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { startUpstream } from '../start-upstream.ts';
import { storageOver } from './replicas.ts';

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

test('a key made at one replica opens another at once, and so does the key of an operator', {
  skip: postgresMissing || redisMissing,
}, async (t) => {
  const [postgres, redis, upstream] = await Promise.all([startPostgres(t), startRedis(t), startUpstream()]);
  t.after(() => upstream.close());
  const config = { ...overUpstreams(upstream.url), storage: storageOver(postgres.newDatabase(), redis) };
  const one = await startGateway(t, config);
  const other = await startGateway(t, config);
  const made = async (path: string, json: object) => {
    const answer = await one.fetch(`/admin/v1${path}`, { json, headers: bearer(adminKey) });
    assert.equal(answer.status, 201, await answer.clone().text());
    return String(((await answer.json()) as { key: unknown }).key);
  };
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    const key = await made('/keys', { account: 'dev', name });
    assert.equal((await other.fetch('/v1/models', { headers: bearer(key) })).status, 200, name);
  }
  for (const [name, json] of [
    ['f', { key: await made('/keys', { account: 'dev', name: 'f' }) }],
    ['bob', { admin_key: await made('/operators', { name: 'bob', role: 'viewer' }) }],
  ] as const) {
    assert.equal((await other.fetch('/dashboard/session', { json })).status, 200, `login of ${name}`);
  }
  const signs = await made('/keys', { account: 'dev', name: 'signs' });
  const issued = await one.fetch('/v1/aws-credentials', { headers: bearer(signs) });
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey } = (await issued.json()) as Record<
    string,
    string
  >;
  const credentials = { accessKeyId: accessKeyId ?? '', secretAccessKey: secretAccessKey ?? '' };
  const signer = new SignatureV4({ credentials, region: 'us-east-1', service: 'bedrock', sha256: Sha256 });
  const { hostname, host } = new URL(other.url);
  const place = { protocol: 'http:', hostname, path: '/foundation-models', query: {}, headers: { host } };
  const { host: _, ...headers } = (await signer.sign({ method: 'GET', ...place })).headers;
  assert.equal((await fetch(`${other.url}/foundation-models`, { headers })).status, 200, 'signed');
  const operator = await made('/operators', { name: 'ann', role: 'viewer' });
  assert.equal((await other.fetch('/admin/v1/accounts', { headers: bearer(operator) })).status, 200);
  const wrong = await Promise.all(
    Array.from({ length: 200 }, (_, at) =>
      other.fetch('/v1/models', { headers: bearer(`sk-cv-${'x'.repeat(40)}${at}`) }),
    ),
  );
  assert.ok(wrong.every(({ status }) => status === 401));
});

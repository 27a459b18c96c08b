import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createRedisHints } from '../../src/stores/redis/hint-channel.ts';
import { keysOf } from '../../src/stores/redis/keys.ts';
import { cert, key } from '../loopback-certificate.ts';
import { closedPort, temporaryFolder } from '../start-process.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { until } from '../until.ts';

const booksId = 'hints';
const channel = `${keysOf(booksId, null)}hints`;

/** Texts that were heard over this URL so far. */
function heardOver(t: TestContext, url: string): string[] {
  const link = { run: async () => 'unsent' as const };
  const hints = createRedisHints({ link, server: { tag: null, url: async () => url }, booksId });
  t.after(() => hints.close());
  const heard: string[] = [];
  hints.listen((text) => heard.push(text));
  return heard;
}

test('a user of Redis without the right to channels has no more than one connection, however often it tries', {
  skip: redisMissing,
}, async (t) => {
  const redis = await startRedis(t);
  redis.cli('acl', 'setuser', 'app', 'on', '>secret', '~*', '+@all', 'resetchannels');
  heardOver(t, redis.url.replace('//', '//app:secret@'));
  await until('it has tried three times', () =>
    /cmdstat_subscribe:.*rejected_calls=[3-9]/.test(redis.cli('info', 'commandstats')),
  );
  const connections = redis.cli('client', 'list').split('\n');
  assert.ok(connections.filter((one) => one.includes('user=app')).length <= 1, connections.join('\n'));
});

test('hints are heard over a Redis that wants a certificate of its clients', { skip: redisMissing }, async (t) => {
  const folder = temporaryFolder(t);
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
  const port = await closedPort();
  const files = ['--tls-cert-file', certFile, '--tls-key-file', keyFile, '--tls-ca-cert-file', certFile];
  const redis = await startRedis(t, { args: ['--tls-port', String(port), ...files, '--tls-auth-clients', 'yes'] });
  const query = `?sslrootcert=${certFile}&sslcert=${certFile}&sslkey=${keyFile}`;
  const heard = heardOver(t, `rediss://127.0.0.1:${port}${query}`);
  await until('a hint is heard', () => {
    redis.cli('publish', channel, 'a hint');
    return heard.length > 0;
  });
  assert.equal(heard[0], 'a hint');
});

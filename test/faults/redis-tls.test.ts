import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { cert, key } from '../loopback-certificate.ts';
import { overUpstreams } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { closedPort, temporaryFolder } from '../start-process.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { startUpstream } from '../start-upstream.ts';
import { chatOnce, startGatewayProcess } from './gateway-process.ts';

test('a Redis with a certificate of a private CA, which wants one of its clients, counts: storage.state names the files', {
  skip: postgresMissing || redisMissing,
}, async (t) => {
  const folder = temporaryFolder(t);
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
  const port = await closedPort();
  const files = ['--tls-cert-file', certFile, '--tls-key-file', keyFile, '--tls-ca-cert-file', certFile];
  const [postgres, upstream] = await Promise.all([
    startPostgres(t),
    startUpstream(),
    startRedis(t, { args: ['--tls-port', String(port), ...files, '--tls-auth-clients', 'yes'] }),
  ]);
  t.after(() => upstream.close());
  const statusWith = async (query: string) => {
    const { url } = await startGatewayProcess(t, {
      ...overUpstreams(upstream.url),
      plans: { default: { rpm: 100 } },
      storage: {
        database: postgres.newDatabase(),
        state: `rediss://127.0.0.1:${port}${query}`,
        secret: 's'.repeat(32),
        data_dir: temporaryFolder(t),
      },
    });
    return (await chatOnce(url)).status;
  };
  assert.equal(await statusWith(`?sslrootcert=${certFile}&sslcert=${certFile}&sslkey=${keyFile}`), 200);
  assert.equal(await statusWith(`?sslcert=${certFile}&sslkey=${keyFile}`), 503);
});

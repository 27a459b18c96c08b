import assert from 'node:assert/strict';
import test from 'node:test';
import { mayBeSecret, redact } from './redact.ts';
import { configSchema } from './schema.ts';

test('the effective configuration shows names and numbers, never a secret', () => {
  const config = configSchema.parse({
    admin: { key: 'SECRET-admin-key-1' },
    server: { smtp: { url: 'smtps://u:SECRET@mail.example', from: 'culvert@example.org' } },
    storage: {
      secret: 'SECRET'.repeat(8),
      database: 'postgres://u:SECRET@h/db',
      state: 'redis://:SECRET@h',
      files: 's3://pictures',
      s3: { access_key_id: 'id', secret_access_key: 'SECRET', session_token: 'SECRET' },
    },
    telemetry: {
      sinks: [{ name: 'bill', webhook: 'https://hooks.example/SECRET', secret: 'SECRET'.repeat(8) }],
      alerts: { to: [{ name: 'chat', slack: 'https://hooks.example/SECRET' }] },
      statements: { to: [{ name: 'acme', webhook: 'https://hooks.example/SECRET', secret: 'SECRET'.repeat(8) }] },
    },
    providers: {
      a: { type: 'openai', api_key: 'SECRET', base_url: 'https://a.example/v1', headers: { authorization: 'SECRET' } },
      b: {
        type: 'openai',
        credentials: [{ api_key: 'SECRET', weight: 3 }],
        proxy: 'http://u:SECRET@proxy.example:3128',
        tls: { cert: '/run/client.pem', key: '/run/SECRET.pem' },
      },
    },
    models: { m: { targets: [{ provider: 'a', model: 'x', body: { token: 'SECRET', more: { deep: 'SECRET' } } }] } },
    plans: { p: { notify: { webhook: 'https://hooks.example/SECRET', secret: 'SECRET'.repeat(8) } } },
    keys: [{ key: 'sk-cv-SECRET99', account: 'dev', name: 'laptop' }],
    vectors: { engine: 'qdrant', url: 'http://q:6333', api_key: 'SECRET' },
    tools: { search: { providers: [{ type: 'brave', api_key: 'SECRET' }] } },
  });
  const shown = JSON.stringify(redact(config));
  assert.ok(!shown.includes('SECRET'), shown);
  for (const text of [
    'laptop',
    's3://pictures',
    'culvert@example.org',
    'https://a.example/v1',
    '"weight":3',
    'postgres://user:secret@h/db',
    'http://user:secret@proxy.example:3128',
    '/run/client.pem',
    'authorization',
    '"port":4141',
  ]) {
    assert.ok(shown.includes(text), text);
  }
});

test('a database of several hosts shows these, never its password', () => {
  const database = 'postgres://u:SECRET@db-1:5432,db-2:5433/d?sslmode=require';
  const { storage } = redact(configSchema.parse({ storage: { database } })) as { storage: { database: string } };
  assert.equal(storage.database, 'postgres://user:secret@db-1:5432,db-2:5433/d?secret');
  assert.ok(mayBeSecret(['storage', 'database'], database));
  assert.ok(!mayBeSecret(['storage', 'database'], 'postgres://db-1:5432,db-2:5433/d'));
});

test('lists of names stay lists, settings of hooks and arguments of programs are secret', () => {
  const { hooks, mcp } = redact(
    configSchema.parse({
      hooks: { team: { module: './team.ts', headers: ['x-team'], env: ['TOKEN'], settings: { keys: ['SECRET'] } } },
      mcp: { servers: { files: { command: 'npx', args: ['-y', '--api-key=SECRET'], env: { TOKEN: 'SECRET' } } } },
    }),
  ) as { hooks: { team: object }; mcp: { servers: { files: object } } };
  const { headers, env, settings } = { headers: null, env: null, settings: null, ...hooks.team };
  assert.deepEqual([headers, env, settings], [['x-team'], ['TOKEN'], { keys: '(secret)' }]);
  const { args } = { args: null, ...mcp.servers.files };
  assert.deepEqual(args, ['(secret)', '(secret)']);
  assert.ok(!JSON.stringify(mcp).includes('SECRET'));
});

test('an address of a webhook of hooks, guards and keys shows its host alone, others show their path', () => {
  const secret = 'w'.repeat(32);
  const url = 'https://hooks.example/services/T0/SECRET';
  const config = configSchema.parse({
    hooks: { team: { type: 'webhook', url, secret, events: ['onSettled'] } },
    guards: {
      outside: { check: 'webhook', url, action: 'block' },
      words: { check: 'presidio', url: 'http://presidio.example/v1/analyze', action: 'mask' },
    },
    callers: { webhook: { url, secret } },
    mcp: { servers: { notes: { url: 'https://notes.example/mcp' } } },
  });
  const shown = JSON.stringify(redact(config));
  assert.ok(!shown.includes('SECRET'), shown);
  assert.equal(shown.split('https://hooks.example/secret').length, 4, shown);
  for (const path of ['http://presidio.example/v1/analyze', 'https://notes.example/mcp']) {
    assert.ok(shown.includes(path), path);
  }
  assert.equal(mayBeSecret(['hooks', 'team', 'url'], url), true);
  assert.equal(mayBeSecret(['callers', 'webhook', 'url'], url), true);
  assert.equal(mayBeSecret(['guards', 'words', 'url'], 'http://presidio.example/'), false);
});

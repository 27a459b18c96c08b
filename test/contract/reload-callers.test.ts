import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { pino } from 'pino';
import { adminKey, noLimits, startGateway } from '../start-gateway.ts';

const headers = { authorization: `Bearer ${adminKey}` };

test('a plan that leaves the file while accounts of the store have it is told in the log, once', async (t) => {
  let lines = '';
  const sink = new Writable({
    write(chunk, _, done) {
      lines += String(chunk);
      done();
    },
  });
  const tight = { tight: { windows: { '5h': 1 }, rpm: 'off', models: ['nothing'] } };
  const gateway = await startGateway(t, { plans: { ...noLimits, ...tight } }, { log: pino({ base: null }, sink) });
  for (const id of ['acme', 'corp']) {
    const made = await gateway.fetch('/admin/v1/accounts', { headers, json: { id, plan: 'tight' } });
    assert.equal(made.status, 201);
  }
  const told = () => lines.split('\n').filter((line) => line.includes('a plan that does not exist'));
  assert.deepEqual(told(), []);
  await gateway.reload({ plans: noLimits });
  await gateway.reload({ plans: noLimits });
  assert.equal(told().length, 1);
  const { level, plan, accounts } = JSON.parse(told()[0]!);
  assert.deepEqual({ level, plan, accounts }, { level: 40, plan: 'tight', accounts: ['acme', 'corp'] });
  await gateway.reload({ plans: { ...noLimits, ...tight } });
  await gateway.reload({ plans: noLimits });
  assert.equal(told().length, 2);
});

test('a reload that takes admin.key out of the file leaves the operator the generated one', async (t) => {
  const gateway = await startGateway(t);
  const asks = async (key: string) =>
    (await gateway.fetch('/admin/v1/health', { headers: { authorization: `Bearer ${key}` } })).status;
  assert.equal(await asks(adminKey), 200);
  await gateway.reload({ admin: {} });
  const generated = readFileSync(join(gateway.dataDir, 'admin.key'), 'utf8').trim();
  assert.deepEqual([await asks(adminKey), await asks(generated)], [401, 200]);
  await gateway.reload({});
  assert.deepEqual([await asks(adminKey), await asks(generated)], [200, 401]);
});

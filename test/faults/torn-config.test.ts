import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import { adminKey, overUpstreams } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { chatOnce, startGatewayProcess } from './gateway-process.ts';

test('F66 a file that is empty, half written or without its keys for 500 ms, with SIGHUP between: no caller gets 401', async (t) => {
  const { url, process: gateway, file } = await started(t);
  const whole = readFileSync(file, 'utf8');
  const statuses = new Map<number, number>();
  let loading = true;
  const load = (async () => {
    while (loading) {
      const { status } = await chatOnce(url);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      await after(5);
    }
  })();
  const withoutKeys = stringify({ ...(parse(whole) as object), keys: undefined });
  for (const torn of ['', whole.slice(0, whole.indexOf('keys:')), whole.slice(0, whole.length / 2), withoutKeys]) {
    writeFileSync(file, torn);
    await after(250);
    gateway.kill('SIGHUP');
    await after(250);
    writeFileSync(file, whole);
    await after(1_200);
  }
  loading = false;
  await load;
  assert.deepEqual([...statuses.keys()], [200]);
});

test('F66 a file that stays empty or loses all its keys is refused and says why; by force it counts', async (t) => {
  const { url, file, log } = await started(t);
  const reload = async (body?: object) => {
    const response = await fetch(`${url}/admin/v1/config/reload`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  };
  const whole = readFileSync(file, 'utf8');
  writeFileSync(file, '\n');
  const empty = await reload();
  assert.equal(empty.status, 400);
  assert.match(empty.text, /the file is empty; delete it to run without one/);
  writeFileSync(file, stringify({ ...(parse(whole) as object), keys: [] }));
  const keyless = await reload();
  assert.equal(keyless.status, 400);
  assert.match(keyless.text, /would drop the only declared key.*culvert reload --force/);
  assert.equal((await chatOnce(url)).status, 200);
  assert.match(log(), /would drop the only declared key.*configuration not reloaded/);

  assert.equal((await reload({ force: 1 })).status, 400);
  assert.equal((await reload({ force: true })).status, 200);
  assert.equal((await chatOnce(url)).status, 401);
  writeFileSync(file, whole);
  assert.equal((await reload()).status, 200);
  assert.equal((await chatOnce(url)).status, 200);
});

async function started(t: TestContext) {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const started = await startGatewayProcess(t, overUpstreams(upstream.url));
  return { ...started, log: () => readFileSync(started.file.replace('culvert.yaml', 'log'), 'utf8') };
}

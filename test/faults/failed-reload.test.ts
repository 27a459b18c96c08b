import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { startGateway, testKey } from '../start-gateway.ts';
import { closedPort, startProcess, temporaryFolder } from '../start-process.ts';

test('a reload that fails keeps no later one from being taken up', async (t) => {
  const gateway = await startGateway(t, {});
  mkdirSync(join(gateway.dataDir, 'admin.key'));
  await assert.rejects(gateway.reload({ admin: {} }), /admin\.key: .* cannot be used/);
  await gateway.reload({
    providers: { up: { type: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key: 'k' } },
    models: { later: { targets: ['up/m'] } },
  });
  const response = await gateway.fetch('/v1/models');
  const { data } = (await response.json()) as { data: { id: string }[] };
  assert.ok(
    data.some(({ id }) => id === 'later'),
    JSON.stringify(data.map(({ id }) => id)),
  );
});

for (const processes of [1, 2]) {
  test(`a configuration that cannot be taken into use is refused, and the old one stays (processes: ${processes})`, async (t) => {
    const cwd = temporaryFolder(t);
    const port = await closedPort();
    const admin = { key: 'sk-cv-admin-reload-test-0001' };
    const looping = join(cwd, 'hook.ts');
    symlinkSync(looping, looping);
    const write = (more: Record<string, unknown>) => {
      const keys = [{ key: testKey, account: 'dev', name: 'test' }];
      writeFileSync(
        join(cwd, 'culvert.yaml'),
        stringify({ server: { port, processes }, keys, autodetect: 'off', ...more }),
      );
    };
    write({ admin });
    const { url } = await startProcess(t, { cwd, args: [] });
    const reload = async () => {
      const headers = { authorization: `Bearer ${admin.key}` };
      const answer = await fetch(`${url}/admin/v1/config/reload`, { method: 'POST', headers });
      return { status: answer.status, text: await answer.text() };
    };
    const chat = async (authorization: string) => {
      const body = JSON.stringify({ model: 'sim/chat', messages: [{ role: 'user', content: 'Hi' }] });
      const headers = { authorization, 'content-type': 'application/json' };
      return (await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })).status;
    };

    mkdirSync(join(cwd, '.culvert', 'admin.key'));
    write({ keys: [{ key: 'sk-cv-test-key-0003', account: 'dev', name: 'later' }] });
    const refused = await reload();
    assert.equal(refused.status, 400, refused.text);
    assert.match(refused.text, /admin\.key: \S+admin\.key cannot be used \(.*\)\. Remove it, or set admin\.key\./);
    // Of several workers, some have taken it by then.
    for (let time = 0; time < 2 * processes; time += 1) {
      assert.equal(await chat(`Bearer ${testKey}`), 200);
      assert.equal(await chat('Bearer sk-cv-test-key-0003'), 401);
    }

    // A hook that cannot be loaded refuses requests, wherever its file is.
    write({ admin, hooks: { loops: { module: './hook.ts' } } });
    assert.deepEqual({ status: (await reload()).status }, { status: 200 });
    assert.equal(await chat(`Bearer ${testKey}`), 503);
  });
}

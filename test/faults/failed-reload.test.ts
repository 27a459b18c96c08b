import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startGateway } from '../start-gateway.ts';

test('a reload that fails keeps no later one from being taken up', async (t) => {
  const gateway = await startGateway(t, {});
  const folder = mkdtempSync(join(tmpdir(), 'culvert-hook-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const module = join(folder, 'hook.ts');
  symlinkSync(module, module);
  await assert.rejects(gateway.reload({ hooks: { loops: { type: 'module', module } } }), /ELOOP/);
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

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertWithin } from '../machine-load.ts';
import { overUpstreams, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { chatOnce, startGatewayProcess } from './gateway-process.ts';
import { fillDisk, mountSmallDisk } from './small-disk.ts';

test('F30 disk full: a stop is over soon, and what could not be written is charged by the next start', async (t) => {
  const disk = mountSmallDisk(t, 24);
  if (disk === null) return t.skip('no file system can be mounted here (needs root)');
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const config = {
    ...overUpstreams(upstream.url),
    models: {
      chat: { targets: ['up1/mock/ok'] },
      stalling: { targets: ['up1/mock/stall=3events'] },
      slow: { targets: ['up1/mock/delay=60s'] },
    },
    storage: { data_dir: join(disk, 'data') },
  };
  const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' };
  const first = await startGatewayProcess(t, config, { graceMs: 500 });
  const post = (path: string, body: object) =>
    fetch(first.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const messages = [{ role: 'user', content: 'Hello' }];
  const stalled = await post('/v1/chat/completions', { model: 'stalling', stream: true, messages });
  const background = { model: 'slow', input: 'Hello', background: true };
  const { id } = (await (await post('/v1/responses', background)).json()) as { id: string };

  const makeRoom = fillDisk(disk);
  // Free space within existing files may still take a few.
  for (let tries = 0; (await chatOnce(first.url)).status === 200; tries++) assert.ok(tries < 2_000);
  const startedMs = performance.now();
  first.process.kill('SIGTERM');
  const [code] = await once(first.process, 'exit');
  assert.equal(code, 0);
  // Each of the waits would be 30 s.
  assertWithin(performance.now() - startedMs, 25_000);
  await stalled.text().catch(() => undefined);

  await assert.rejects(startGatewayProcess(t, config), /ledger\.db: .*\. Free some space, or name another data folder/);
  makeRoom();
  const { url } = await startGatewayProcess(t, config);
  const read = async (path: string) => (await (await fetch(url + path, { headers })).json()) as Record<string, unknown>;
  const record = await read(`/v1/requests/${stalled.headers.get('x-culvert-request-id')}`);
  assert.deepEqual([record.class, record.units], ['crashed', 1]);
  assert.equal((await read(`/v1/responses/${id}`)).status, 'failed');
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { adminKey, overUpstreams, testKey } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { startGatewayProcess } from './gateway-process.ts';

const source = new URL('./slow-disk.c', import.meta.url).pathname;

test('a disk that syncs slowly holds up those whose change it keeps, and nobody else', async (t) => {
  const folder = temporaryFolder(t);
  const [library, slow] = [join(folder, 'slow-disk.so'), join(folder, 'slow')];
  if (spawnSync('cc', ['-shared', '-fPIC', '-o', library, source, '-ldl']).status !== 0)
    return t.skip('there is no C compiler');
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const config = {
    ...overUpstreams(upstream.url),
    storage: { data_dir: join(folder, 'data') },
  };
  const under = ['env', `LD_PRELOAD=${library}`, `SLOW_DISK=${slow}`];
  const { url } = await startGatewayProcess(t, config, { under });
  const sent = async (path: string, key: string, json: object) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(json) });
    return { status: response.status, text: await response.text() };
  };
  const changes: Record<string, () => Promise<{ status: number; text: string }>> = {
    'a key is made': () => sent('/admin/v1/keys', adminKey, { account: 'dev', name: `k${Date.now()}` }),
    'a crawl is begun': () => sent('/v1/tools/crawl', testKey, { url: 'http://nobody.invalid/', limit: 1 }),
  };
  for (const [name, change] of Object.entries(changes)) {
    // It opens what it needs while the disk is quick.
    const first = await change();
    assert.ok(first.status < 300, first.text);
    writeFileSync(slow, '');
    let isOver = false;
    const changed = change().finally(() => {
      isOver = true;
    });
    let answered = 0;
    while (!isOver) {
      assert.equal((await fetch(`${url}/healthz`)).status, 200);
      if (!isOver) answered += 1;
    }
    assert.ok((await changed).status < 300);
    rmSync(slow);
    // Those that were on their way before its commit, if nobody was answered during its sync.
    assert.ok(answered > 10, `${name}: ${answered} others were answered meanwhile`);
  }
});

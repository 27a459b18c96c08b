import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { adminKey, overUpstreams, testKey } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { ask, balanced } from './books-balance.ts';
import { startGatewayProcess } from './gateway-process.ts';

const source = new URL('./slow-disk.c', import.meta.url).pathname;

/** A library that makes syncs slow or fail; null without a C compiler. */
function compiled(folder: string): string | null {
  const library = join(folder, 'slow-disk.so');
  return spawnSync('cc', ['-shared', '-fPIC', '-o', library, source, '-ldl']).status === 0 ? library : null;
}

test('a disk that syncs slowly holds up those whose change it keeps, and nobody else', async (t) => {
  const folder = temporaryFolder(t);
  const [library, slow] = [compiled(folder), join(folder, 'slow')];
  if (library === null) return t.skip('there is no C compiler');
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

test('F32 a disk that fails to sync: nothing is taken until a restart, even where it syncs again, and all is there then', async (t) => {
  const folder = temporaryFolder(t);
  const [library, broken] = [compiled(folder), join(folder, 'broken')];
  if (library === null) return t.skip('there is no C compiler');
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const windows = { '5h': 1_000, week: 1_000, month: 1_000 };
  const config = {
    ...overUpstreams(upstream.url),
    server: { processes: 1 },
    storage: { data_dir: join(folder, 'data') },
    plans: { default: { windows, rpm: 'off' } },
  };
  const under = ['env', `LD_PRELOAD=${library}`, `BROKEN_DISK=${broken}`];
  const first = await startGatewayProcess(t, config, { under });
  const newKey = async (name: string) => {
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ account: 'dev', name });
    const { status } = await fetch(`${first.url}/admin/v1/keys`, { method: 'POST', headers, body });
    return status;
  };
  const answered: string[] = [];
  const chat = async () => {
    const { status, id, text } = await ask(first.url);
    if (status === 200) answered.push(id!);
    else assert.equal(status, 503, text);
    return status;
  };
  assert.equal(await chat(), 200);
  writeFileSync(broken, '');
  // Those before the next sync are answered.
  while ((await chat()) === 200);
  assert.equal(await newKey('while'), 503);
  assert.equal((await fetch(`${first.url}/readyz`)).status, 503);
  rmSync(broken);
  assert.equal(await newKey('after'), 201, 'a change is written and synced anew');
  assert.equal(await chat(), 503, 'what was written before the failed sync may be lost');
  const ended = once(first.process, 'exit');
  first.process.kill('SIGTERM');
  await ended;
  const { url } = await startGatewayProcess(t, config);
  assert.equal((await ask(url)).status, 200);
  const { events } = await balanced(url);
  for (const id of answered)
    assert.ok(
      events.some((event) => event.id === id),
      id,
    );
});

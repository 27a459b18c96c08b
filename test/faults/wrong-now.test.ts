import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { DoctorReply } from '../../src/admin/doctor.ts';
import type { Wrong } from '../../src/admin/troubles/wrong.ts';
import {
  adminKey,
  noLimits,
  overUpstreams,
  startGateway,
  type TestGateway,
  testProcesses,
  workersKnow,
} from '../start-gateway.ts';
import { closedPort } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { mountSmallDisk } from './small-disk.ts';

async function read<T>(gateway: TestGateway, path: string, key = adminKey): Promise<T> {
  const answer = await gateway.fetch(`/admin/v1${path}`, { headers: { authorization: `Bearer ${key}` } });
  assert.equal(answer.status, 200);
  return (await answer.json()) as T;
}

/** How long an overview is reused: the doctor may have looked in another worker since. */
const overviewReusedMs = testProcesses > 1 ? 5_000 : 0;

/** The doctor's present findings, and then the overview; each problem is in both. */
async function look(gateway: TestGateway, key = adminKey): Promise<Wrong[]> {
  const endMs = performance.now() + overviewReusedMs;
  for (;;) {
    const isLast = performance.now() >= endMs;
    const { findings } = await read<DoctorReply>(gateway, '/doctor', key);
    const { wrong } = await read<{ wrong: Wrong[] }>(gateway, '/overview', key);
    const found = findings
      .filter(({ check, state }) => state !== 'ok' && !capabilities.includes(check))
      .map(({ state, page = 'settings', id = null }) => `${state} ${page} ${id}`);
    const shown = wrong.map(({ severity, page, id }) => `${severity} ${page} ${id}`);
    if (!isLast && !isDeepStrictEqual(shown.toSorted(), found.toSorted())) {
      await pause(500);
      continue;
    }
    assert.deepEqual(shown.toSorted(), found.toSorted());
    return checkedSentences(wrong);
  }
}

function checkedSentences(wrong: Wrong[]): Wrong[] {
  for (const { text } of wrong) assert.match(text, /^[A-Z0-9].*\.$|^\S+ has used/);
  return wrong;
}

/** A capability that nobody provides yet is not a present fault: only the doctor reports it. */
const capabilities = [
  'chat',
  'embeddings',
  'speech',
  'transcription',
  'images',
  'vectors',
  'search',
  'ffmpeg',
  'chromium',
];

async function chat(gateway: TestGateway): Promise<number> {
  const json = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };
  const answer = await gateway.fetch('/v1/chat/completions', { json });
  await answer.text();
  return answer.status;
}

async function upstreamOf(t: TestContext): Promise<string> {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  return upstream.url;
}

test('nothing is wrong with a server that serves', async (t) => {
  const gateway = await startGateway(t, overUpstreams(await upstreamOf(t)));
  assert.equal(await chat(gateway), 200);
  assert.deepEqual(await look(gateway), []);
});

test('a provider that refuses connections is down, with its model; the doctor says no "one credential" beside it', async (t) => {
  const gateway = await startGateway(t, overUpstreams(`http://127.0.0.1:${await closedPort()}`));
  // Each worker finds it dead, or hears it of the other.
  for (let at = 0; at < 4 * testProcesses; at += 1) assert.ok((await chat(gateway)) >= 502);
  await workersKnow();
  const first = await look(gateway);
  assert.match(first[0]!.text, /^The provider up1 is down: unreachable, (back in |the next request tries it again)/);
  // By then it may be tried again, and nobody has.
  await pause(1_500);
  const wrong = await look(gateway);
  assert.deepEqual(
    wrong.slice(0, 2).map(({ severity, page, id }) => [severity, page, id]),
    [
      ['problem', 'providers', 'up1'],
      ['problem', 'models', 'chat'],
    ],
  );
  assert.match(wrong[0]!.text, /^The provider up1 is down: unreachable, the next request tries it again\.$/);
  const { ok, findings } = await read<DoctorReply>(gateway, '/doctor');
  assert.equal(ok, false);
  assert.deepEqual(
    findings.filter(({ check }) => check === 'provider up1').map(({ state }) => state),
    wrong.filter(({ page }) => page === 'providers').map(({ severity }) => severity),
  );
});

test('a window that is 90 % used is a warning with its account, a full one a problem', async (t) => {
  const gateway = await startGateway(t, {
    ...overUpstreams(await upstreamOf(t)),
    plans: { default: { windows: { '5h': 10 }, rpm: 'off' } },
  });
  for (let at = 0; at < 8; at += 1) assert.equal(await chat(gateway), 200);
  assert.deepEqual(await look(gateway), []);
  assert.equal(await chat(gateway), 200);
  const [near] = await look(gateway);
  assert.deepEqual([near?.severity, near?.page, near?.id], ['warning', 'accounts', 'dev']);
  assert.match(
    near!.text,
    /90% of its 5-hour window \(9 of 10 units; the next part of it is available again in 5 h\)\.$/,
  );
  assert.equal(await chat(gateway), 200);
  assert.equal((await look(gateway))[0]?.severity, 'problem');

  const made = await gateway.fetch('/admin/v1/operators', {
    headers: { authorization: `Bearer ${adminKey}` },
    json: { name: 'Other', role: 'viewer', accounts: ['other'] },
  });
  const { key } = (await made.json()) as { key: string };
  assert.deepEqual(await look(gateway, key), [], 'what is of another account is as if it were not there');
});

test('a budget of less than a cent is named in figures that count, and a day of the calendar comes back whole', async (t) => {
  const target = { provider: 'up1', model: 'mock/ok', price: { input: 1, output: 1 } };
  const gateway = await startGateway(t, {
    ...overUpstreams(await upstreamOf(t)),
    models: { chat: { targets: [target] } },
    plans: { default: { rpm: 'off', calendar_budget: { day: 0.00001 } } },
  });
  assert.equal(await chat(gateway), 200);
  const [spent] = await look(gateway);
  assert.match(
    spent!.text,
    /^dev has used \d+% of its daily budget \(\$0\.0000\d+ of \$0\.00001; all of it is available again in .+\)\.$/,
  );
});

test('more than a window allows is used: the next part that leaves it makes no room yet', async (t) => {
  const target = { provider: 'up1', model: 'mock/ok', price: { input: 1, output: 1 } };
  const gateway = await startGateway(t, {
    ...overUpstreams(await upstreamOf(t)),
    models: { chat: { targets: [target] } },
    plans: { default: { rpm: 'off', windows: 'off', budget: { week: 0.00001 } } },
  });
  assert.equal(await chat(gateway), 200);
  const [spent] = await look(gateway);
  assert.match(spent!.text, /^dev has used \d{3,}% of .+; the oldest part of it stops counting in .+\)\.$/);
});

test('a disk fills, is full, and has room again; what is refused is what the doctor says', async (t) => {
  const disk = mountSmallDisk(t, 100);
  if (disk === null) return t.skip('no file system can be mounted here');
  const gateway = await startGateway(t, {
    ...overUpstreams(await upstreamOf(t)),
    plans: noLimits,
    storage: { data_dir: join(disk, 'data'), reserve: '20mb' },
  });
  const ballast = (sizeMb: number) => writeFileSync(join(disk, 'ballast'), Buffer.alloc(sizeMb * 1_000_000));
  const collection = () =>
    gateway.fetch(`/v1/vectors/collections/c${Math.random()}`, {
      method: 'PUT',
      body: JSON.stringify({ vectors: { size: 4, distance: 'Dot' } }),
      headers: { 'content-type': 'application/json' },
    });
  assert.deepEqual(await look(gateway), []);
  ballast(75);
  const [filling] = await look(gateway);
  assert.deepEqual([filling?.severity, filling?.page, filling?.id], ['warning', 'settings', null]);
  assert.match(filling!.text, /^Disk: \d+ MB of 105 MB are free for the data folder: the disk is filling up\.$/);
  ballast(88);
  const [full] = await look(gateway);
  assert.equal(full?.severity, 'problem');
  // Room is looked at every second.
  await pause(1_500);
  assert.equal((await collection()).status, 503);
  rmSync(join(disk, 'ballast'));
  assert.deepEqual(await look(gateway), []);
});

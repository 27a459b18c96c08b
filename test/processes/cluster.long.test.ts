import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { stringify } from 'yaml';
import type { ProcessRow } from '../../src/admin/cluster.ts';
import { startGatewayProcess } from '../faults/gateway-process.ts';
import { storageOver } from '../faults/replicas.ts';
import { adminKey, overUpstreams } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { ask, chat, overBoth, startProcesses } from './start-processes.ts';

async function processesAt(url: string): Promise<ProcessRow[]> {
  const { status, text } = await ask(url, '/admin/v1/cluster', undefined, adminKey);
  assert.equal(status, 200, text);
  return (JSON.parse(text) as { data: ProcessRow[] }).data;
}

async function upstreamFor(t: TestContext) {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  return upstream;
}

const missing = postgresMissing || redisMissing;

test('replicas show each other: one with another file stands out, drains, and is gone', {
  skip: missing,
}, async (t) => {
  const [upstream, postgres, redis] = [await upstreamFor(t), await startPostgres(t), await startRedis(t)];
  upstream.script('/v1/chat/completions', ['always tokens=120;interval=100ms']);
  const storage = storageOver(postgres.newDatabase(), redis);
  const start = (more: object = {}) => {
    const config = { ...overUpstreams(upstream.url), ...more };
    return startGatewayProcess(t, { ...config, storage: { ...storage, data_dir: join(temporaryFolder(t), 'data') } });
  };
  const [one, two] = [await start(), await start({ server: { shutdown_grace: '60s' } })];
  const third = await start();
  await until('each knows of all', async () => (await processesAt(one.url)).filter((row) => row.version).length === 3);
  const rows = await processesAt(one.url);
  assert.deepEqual(new Set(rows.map(({ host }) => host)), new Set([hostname()]));
  assert.equal(new Set(rows.map(({ replica }) => replica)).size, 3);
  const pids = new Set([one, two, third].map((each) => each.process.pid));
  assert.deepEqual(new Set(rows.map(({ pid }) => pid)), pids);
  const row = (all: ProcessRow[], of: typeof one) => all.find(({ pid }) => pid === of.process.pid);
  assert.deepEqual(row(rows, one)?.differs, []);
  assert.deepEqual(row(rows, two)?.differs, ['configuration']);
  const doctor = await ask(one.url, '/admin/v1/doctor', undefined, adminKey);
  assert.match(
    doctor.text,
    new RegExp(`another configuration than the others: ${hostname()} .pid ${two.process.pid}.`),
  );

  // A stream keeps it for a while.
  const stream = ask(two.url, '/v1/chat/completions', { ...chat, stream: true });
  await until('it streams', () => upstream.requests().some(({ path }) => path === '/v1/chat/completions'));
  const ended = once(two.process, 'exit');
  two.process.kill('SIGTERM');
  await until('the others see it drain', async () => row(await processesAt(one.url), two)?.state === 'draining');
  assert.equal(row(await processesAt(one.url), two)?.requests, 1);
  await stream;
  await ended;
  const gone = row(await processesAt(one.url), two);
  assert.deepEqual([gone?.state, gone?.differs], ['gone', []]);
  assert.ok(Date.now() - Date.parse(gone!.seen_at) < 60_000);
});

overBoth('the workers of a server are listed, with what they do and how many have died', async (t, over) => {
  const upstream = await upstreamFor(t);
  upstream.script('/v1/chat/completions', ['always tokens=100;interval=100ms']);
  const gateway = await startProcesses(t, over, upstream.url);
  await until('both are known', async () => (await processesAt(gateway.url)).filter((row) => row.pid).length === 2);
  const rows = await processesAt(gateway.url);
  assert.deepEqual(
    rows.map(({ worker, state, differs }) => [worker, state, ...differs]),
    [
      [1, 'serving'],
      [2, 'serving'],
    ],
  );
  assert.equal(new Set(rows.map(({ replica }) => replica)).size, 1);
  assert.deepEqual(new Set(rows.map(({ pid }) => pid)), new Set(gateway.workers()));
  assert.ok(rows.every(({ memory_bytes: bytes }) => bytes !== null && bytes > 10_000_000));
  const stream = ask(gateway.url, '/v1/chat/completions', { ...chat, stream: true }).catch(() => null);
  const under = async () => (await processesAt(gateway.url)).reduce((sum, { requests }) => sum + (requests ?? 0), 0);
  // The look itself is a request of one of them.
  await until('the stream is counted', async () => (await under()) >= 2);
  for (const pid of gateway.workers()) process.kill(pid, 'SIGKILL');
  await stream;
  await until('two have died, and two serve', async () => {
    const states = (await processesAt(gateway.url).catch(() => [])).map(({ state }) => state);
    const count = (of: string) => states.filter((state) => state === of).length;
    return count('serving') === 2 && (over.name === 'shared' || count('gone') === 2);
  });

  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'culvert.yaml'), stringify({ autodetect: 'off' }));
  const options = ['--url', gateway.url];
  const printed = await runCommand(['cluster', ...options], { cwd, env: { CULVERT_ADMIN_KEY: adminKey } });
  assert.equal(printed.code, 0, printed.stderr);
  const printedRows = (JSON.parse(printed.stdout) as { data: ProcessRow[] }).data;
  assert.deepEqual(new Set(printedRows.map(({ host }) => host)), new Set([hostname()]));
});

overBoth('a worker that hangs is ended and replaced', async (t, over) => {
  const upstream = await upstreamFor(t);
  const gateway = await startProcesses(t, over, upstream.url);
  const [victim, other] = gateway.workers() as [number, number];
  process.kill(victim, 'SIGSTOP');
  await until(
    'another worker serves in its place',
    () => gateway.log().includes('a worker serves in place of the dead one'),
    90_000,
  );
  assert.match(gateway.log(), /"worker":1,"msg":"a worker did not answer for 20 s, so it is ended"/);
  const now = gateway.workers();
  assert.ok(now.length === 2 && now.includes(other) && !now.includes(victim));
});

overBoth('a provider that is down is known to the other worker, and to one that starts later', async (t, over) => {
  const upstream = await upstreamFor(t);
  const gateway = await startProcesses(t, over, upstream.url);
  const [one, two] = gateway.workers() as [number, number];
  const standings = async () => {
    const { text } = await ask(gateway.url, '/admin/v1/providers', undefined, adminKey);
    return /"state":"(cooling)"/.exec(text)?.[1] ?? 'ready';
  };
  upstream.script('/v1/chat/completions', ['status=429;retry-after=60']);
  // The other one stands still meanwhile, so that it cannot have been asked itself.
  process.kill(two, 'SIGSTOP');
  try {
    const { status } = await ask(gateway.url, '/v1/chat/completions', chat);
    assert.notEqual(status, 200);
    await pause(300);
  } finally {
    process.kill(two, 'SIGCONT');
  }
  process.kill(one, 'SIGSTOP');
  try {
    await until('the other one knows', async () => (await standings()) === 'cooling');
  } finally {
    process.kill(one, 'SIGKILL');
  }
  await until('another one serves', () => gateway.log().includes('a worker serves in place of the dead one'));
  process.kill(two, 'SIGSTOP');
  try {
    await until('the new one knows', async () => (await standings()) === 'cooling');
  } finally {
    process.kill(two, 'SIGCONT');
  }
  const asked = upstream.requests().filter(({ path }) => path === '/v1/chat/completions');
  assert.equal(asked.length, 1, 'nobody else had to ask');
});

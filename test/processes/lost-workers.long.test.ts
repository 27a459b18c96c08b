import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import { findInTurns } from '../../src/processes/worker-seat.ts';
import { startGatewayProcess } from '../faults/gateway-process.ts';
import { assertWithin, busyness } from '../machine-load.ts';
import { adminKey, overUpstreams } from '../start-gateway.ts';
import { closedPort, runCommand, temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { ask, chat, childrenOf, overBoth, replaced, scrape, startProcesses } from './start-processes.ts';

overBoth('a worker that dies before the others have started ends the start, with its cause', async (t, over) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const log = join(temporaryFolder(t), 'log');
  const config = { ...overUpstreams(upstream.url), server: { processes: 2 }, storage: over.storage(t) };
  const { process: primary } = await startGatewayProcess(t, config, { log });
  const ended = once(primary, 'exit');
  // It answers already, and the second one has yet to.
  process.kill(childrenOf(primary.pid!)[0]!, 'SIGKILL');
  assert.deepEqual(await ended, [1, null]);
  assert.match(readFileSync(log, 'utf8'), /^Worker 1 ended \(SIGKILL\) during the start\.$/m);
});

overBoth('SIGTERM before all have started ends the start in order', async (t, over) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const log = join(temporaryFolder(t), 'log');
  const storage = over.storage(t);
  const config = { ...overUpstreams(upstream.url), server: { processes: 2 }, storage };
  const { process: primary } = await startGatewayProcess(t, config, { log });
  const ended = once(primary, 'exit');
  const [first] = childrenOf(primary.pid!);
  process.kill(primary.pid!, 'SIGTERM');
  assert.deepEqual(await ended, [1, null]);
  assert.match(readFileSync(log, 'utf8'), /^SIGTERM came during the start, so nothing was started\.$/m);
  assert.equal(existsSync(join(storage.data_dir, 'lock')), false);
  assert.throws(() => process.kill(first!, 0), 'its workers have ended');
});

overBoth('a killed worker has a successor within a second, once a spare has loaded its code', async (t, over) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startProcesses(t, over, upstream.url);
  const isSpare = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('culvert spare');
  await until('there is a spare', () => childrenOf(gateway.process.pid!).some(isSpare));
  await pause(1_500 * busyness());
  const [victim] = gateway.workers() as [number];
  const diedMs = performance.now();
  process.kill(victim, 'SIGKILL');
  await replaced(gateway, 1);
  const tookMs = performance.now() - diedMs;
  t.diagnostic(`${tookMs.toFixed(0)} ms`);
  assertWithin(tookMs, 1_000);
});

overBoth('while no worker lives, connections wait for the next one, and none is refused', async (t, over) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startProcesses(t, over, upstream.url);
  const port = Number(new URL(gateway.url).port);
  const refused: string[] = [];
  const connecting = setInterval(() => {
    const socket = connect(port, '127.0.0.1', () => socket.destroy());
    // One that a worker had accepted is reset by its death.
    socket.on('error', ({ code }: NodeJS.ErrnoException) => code === 'ECONNREFUSED' && refused.push(code));
  }, 5);
  t.after(() => clearInterval(connecting));
  for (let round = 1; round <= 3; round++) {
    const all = childrenOf(gateway.process.pid!);
    for (const pid of all) process.kill(pid, 'SIGKILL');
    await until('all are dead', () => !all.some((pid) => existsSync(`/proc/${pid}`)));
    assert.equal((await ask(gateway.url, '/healthz')).status, 200);
    await replaced(gateway, 2 * round);
  }
  assert.deepEqual(refused, []);
  const ended = once(gateway.process, 'exit');
  gateway.process.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
  clearInterval(connecting);
  await assert.rejects(ask(gateway.url, '/healthz'), /ECONNREFUSED/);
});

overBoth('counters of /metrics never fall: a worker dies, and another one stands still', async (t, over) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startProcesses(t, over, upstream.url);
  const [victim, other] = gateway.workers() as [number, number];
  for (const stopped of [victim, other]) {
    process.kill(stopped, 'SIGSTOP');
    for (let turn = 0; turn < 3; turn++)
      assert.equal((await ask(gateway.url, '/v1/chat/completions', chat)).status, 200);
    process.kill(stopped, 'SIGCONT');
  }
  const counted = async () =>
    Number(/^culvert_requests_total\{[^}]*\} (\d+)$/m.exec(await scrape(gateway.url))?.[1] ?? 'none');
  assert.equal(await counted(), 6);
  process.kill(victim, 'SIGKILL');
  await until('it is replaced', () => gateway.log().includes('a worker serves in place of the dead one'));
  assert.equal(await counted(), 6);
  process.kill(other, 'SIGSTOP');
  t.after(() => process.kill(other, 'SIGCONT'));
  assert.equal(await counted(), 6);
});

overBoth('a reload answers while a worker stands still, which takes the configuration later', async (t, over) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startProcesses(t, over, upstream.url);
  const [stopped] = gateway.workers() as [number];
  process.kill(stopped, 'SIGSTOP');
  try {
    const reload = await ask(gateway.url, '/admin/v1/config/reload', {}, adminKey);
    assert.equal(reload.status, 200, reload.text);
  } finally {
    process.kill(stopped, 'SIGCONT');
  }
  assert.match(
    gateway.log(),
    /"worker":1,"msg":"a worker does not answer\. It takes the configuration when it goes on"/,
  );
});

overBoth('a worker that comes after a reload has the port and the stores of the start', async (t, over) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startProcesses(t, over, upstream.url);
  const config = parse(readFileSync(gateway.file, 'utf8')) as { server: object; storage: object };
  const server = { ...config.server, port: await closedPort() };
  writeFileSync(gateway.file, stringify({ ...config, server, storage: { ...config.storage, ...over.storage(t) } }));
  assert.equal((await ask(gateway.url, '/admin/v1/config/reload', {}, adminKey)).status, 200);
  const [victim, other] = gateway.workers() as [number, number];
  process.kill(victim, 'SIGKILL');
  await until('it is replaced', () => gateway.log().includes('a worker serves in place of the dead one'));
  process.kill(other, 'SIGKILL');
  assert.equal((await ask(gateway.url, '/healthz')).status, 200);
});

test('a worker asks for many items in turns, for each once', async () => {
  const turns: number[] = [];
  const find = findInTurns(async (_, references) => {
    turns.push(references.length);
    return Object.fromEntries(references.map(({ id }) => [id, { id }]));
  });
  const ids = Array.from({ length: 5_000 }, (_, at) => `msg_${at % 2_500}`);
  const found = await find(
    'tenant',
    ids.map((id, at) => ({ id, field: `input[${at}]`, use: 'needed' })),
  );
  assert.deepEqual(turns, [1_000, 1_000, 500]);
  assert.equal(Object.keys(found).length, 2_500);
});

test('a program that a worker starts is no worker', async (t) => {
  const ran = await runCommand(['--version'], { cwd: temporaryFolder(t), alone: true, env: { CULVERT_WORKER: '1' } });
  assert.deepEqual([ran.code, ran.stderr], [0, '']);
});

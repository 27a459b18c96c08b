import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import { seededRandom } from '../../src/kernel/random.ts';
import { assertWithin } from '../machine-load.ts';
import { startGateway, type TestGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { blackHole } from './dead-places.ts';
import { openReservations } from './gauges.ts';

const requests = 1_000;
const atOnce = 50;
/** The contract's; beyond it, what a machine with eight other tasks may add to a few of them. */
const abortMs = 100;
const stragglersMs = 1_000;

const states = [
  'sending',
  'connecting',
  'waiting',
  'streaming',
  'converting',
  'whole',
  'backoff',
  'large-body',
] as const;
type State = (typeof states)[number];

test(`F17, F18 ${requests} callers leave at random moments: upstreams closed, each settled once, nothing left open`, async (t) => {
  const seed = Number(process.env.CULVERT_TEST_SEED ?? Date.now() % 1_000_000);
  t.diagnostic(`CULVERT_TEST_SEED=${seed}`);
  const random = seededRandom(seed);
  const { gateway, upstream } = await start(t);
  const leftAtMs = new Map<string, number>();
  // Cold code takes its time: the measurement is of a gateway at work.
  for (const state of [...states, ...states, ...states]) await callAndLeave(gateway, 'warm-up', state, 0.99);
  await settled(gateway);
  upstream.clear();

  const lateness = monitorEventLoopDelay({ resolution: 5 });
  lateness.enable();
  let next = 0;
  const caller = async () => {
    while (next < requests) {
      const id = `caller-${next++}`;
      // Large bodies cost a worker's time: one in fifty is enough.
      const state = states[random.next() < 0.02 ? 7 : Math.floor(random.next() * 7)]!;
      await callAndLeave(gateway, id, state, random.next());
      leftAtMs.set(id, Date.now());
    }
  };
  await Promise.all(Array.from({ length: atOnce }, caller));
  lateness.disable();
  await settled(gateway);
  const posts = () => upstream.requests().filter(({ method }) => method === 'POST');
  await until('each upstream has ended', () => posts().every(({ ended_ms }) => ended_ms !== null));

  const late: number[] = [];
  const asked = new Set<string>();
  for (const seen of posts()) {
    const id = idOf(seen.body);
    asked.add(id);
    if (seen.aborted) late.push(seen.ended_ms! - leftAtMs.get(id)!);
  }
  late.sort((a, b) => a - b);
  t.diagnostic(
    `${asked.size} reached the upstream, ${late.length} were aborted there, the last after ${late.at(-1)} ms`,
  );
  assert.ok(late.length > requests / 5, 'the moments strike');
  // Callers, gateway and upstream share this loop: each of them may find it as late as it was.
  const loopMs = (percent: number) => 3 * (lateness.percentile(percent) / 1e6);
  assertWithin(late[Math.floor(late.length * 0.98)]!, abortMs + 1 + loopMs(98), '98 % of them');
  assertWithin(late.at(-1)!, stragglersMs + 1 + loopMs(100), 'the last');

  const rows = settledRows(gateway);
  rows.delete('warm-up');
  for (const [id, count] of rows) assert.equal(count, 1, `${id} is settled ${count} times`);
  for (const id of asked) assert.ok(rows.has(id), `${id} was dispatched and is not in the books`);
  assert.equal(await openReservations(gateway), 0);
});

/** Sends one request and closes the connection at a moment that `chance` picks for the state. */
async function callAndLeave(gateway: TestGateway, id: string, state: State, chance: number): Promise<void> {
  const { hostname, port } = new URL(gateway.url);
  const body = JSON.stringify({
    model: state,
    stream: state === 'streaming' || (state === 'converting' && chance < 0.5),
    messages: [{ role: 'user', content: `${id} ${'x'.repeat(state === 'large-body' ? 1_100_000 : 200)}` }],
  });
  const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${gateway.key}\r\ncontent-type: application/json\r\nx-request-id: ${id}\r\nexpect: 100-continue\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.write(head);
  // From here on the gateway is at work; before, the kernel may hold the connection back, because a loop accepts one a
  // turn.
  await once(socket, 'data');
  socket.resume();
  socket.write(state === 'sending' ? body.slice(0, Math.floor(chance * body.length)) : body);
  // Half of them within the first milliseconds, where most states change.
  await after(chance < 0.5 ? chance * 10 : (chance - 0.5) * 120);
  if (chance % 0.1 < 0.05) socket.resetAndDestroy();
  else socket.destroy();
}

async function start(t: TestContext) {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const hole = await blackHole(t);
  const slow = 'interval=5ms;tokens=60';
  const target = (provider: string, model: string) => ({ targets: [{ provider, model: `mock/${model}` }] });
  const gateway = await startGateway(t, {
    providers: {
      up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' },
      messages: { type: 'anthropic', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' },
      failing: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret-2' },
      hole: { type: 'openai', base_url: `${hole}/v1`, api_key: 'upstream-secret' },
    },
    models: {
      sending: target('up', slow),
      connecting: target('hole', 'ok'),
      waiting: target('up', 'hang'),
      streaming: target('up', slow),
      converting: target('messages', slow),
      whole: target('up', 'delay=40ms'),
      backoff: target('failing', 'status=500'),
      'large-body': target('messages', slow),
    },
  } satisfies Record<string, unknown>);
  return { gateway, upstream };
}

function idOf(body: unknown): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return /caller-\d+/.exec(text)?.[0] ?? '';
}

/** Resolves once no request runs any more; the ledger's gauge says so. */
async function settled(gateway: TestGateway): Promise<void> {
  await until('no reservation stays open', async () => (await openReservations(gateway)) === 0);
}

function settledRows(gateway: TestGateway): Map<string, number> {
  const database = new DatabaseSync(join(gateway.dataDir, 'ledger.db'), { readOnly: true });
  const rows = database
    .prepare(
      "SELECT client_request_id AS id, count(*) AS n FROM usage_event WHERE usage_source <> 'refused' GROUP BY client_request_id",
    )
    .all();
  database.close();
  return new Map(rows.map((row) => [String(row.id), Number(row.n)]));
}

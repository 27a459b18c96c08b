import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { balanced } from '../faults/books-balance.ts';
import { startGatewayProcess } from '../faults/gateway-process.ts';
import { adminKey, overUpstreams } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { ask, chat, childrenOf, embedded, type StartedProcesses, scrape, startProcesses } from './start-processes.ts';

async function upstreamFor(t: TestContext) {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  return upstream;
}

/** Other requests are for its lists of models. */
function chatsAt(upstream: Upstream): number {
  return upstream.requests().filter(({ path }) => path === '/v1/chat/completions').length;
}

const wide = { windows: { '5h': 100_000, week: 200_000, month: 300_000 }, rpm: 1_000_000, concurrency: 1_000 };

/** Callers over connections of their own until `stop`; how many answers of each status came, and how many broke off. */
function callers(url: string, count: number) {
  const seen = { answered: 0, refused: 0, broken: 0 };
  let stopped = false;
  const ended = Promise.all(
    Array.from({ length: count }, async () => {
      while (!stopped) {
        const answer = await ask(url, '/v1/chat/completions', chat).catch(() => null);
        if (answer === null) seen.broken += 1;
        else if (answer.status === 200) seen.answered += 1;
        else seen.refused += 1;
      }
    }),
  );
  return {
    seen,
    async stop() {
      stopped = true;
      await ended;
    },
  };
}

async function replaced({ log }: StartedProcesses, times: number): Promise<void> {
  await until('it is replaced', () => log().split('a worker serves in place of the dead one').length > times);
}

test('200 callers for the last 100 units over two processes: exactly 100 pass', async (t) => {
  const upstream = await upstreamFor(t);
  const { url } = await startProcesses(t, embedded, upstream.url, {
    plans: { default: { ...wide, windows: { '5h': 100, week: 10_000, month: 20_000 } } },
  });
  const all = await Promise.all(Array.from({ length: 200 }, () => ask(url, '/v1/chat/completions', chat)));
  assert.deepEqual(
    [200, 429].map((wanted) => all.filter(({ status }) => status === wanted).length),
    [100, 100],
  );
  assert.equal((await balanced(url)).units, 100);
  assert.equal(chatsAt(upstream), 100);
});

test('calls a minute and places are exact over two processes', async (t) => {
  const upstream = await upstreamFor(t);
  upstream.script('/v1/chat/completions', ['always delay=1500ms']);
  const { url } = await startProcesses(t, embedded, upstream.url, { plans: { default: { ...wide, concurrency: 7 } } });
  const all = await Promise.all(Array.from({ length: 40 }, () => ask(url, '/v1/chat/completions', chat)));
  assert.equal(all.filter(({ status }) => status === 200).length, 7);
  const again = await Promise.all(Array.from({ length: 7 }, () => ask(url, '/v1/chat/completions', chat)));
  assert.deepEqual(new Set(again.map(({ status }) => status)), new Set([200]), 'places come back');
});

for (const [limit, plan] of Object.entries({
  concurrency: { ...wide, concurrency: 1 },
  window: { ...wide, windows: { '5h': 1, week: 10_000, month: 20_000 } },
})) {
  test(`what a request gave back is there for the next one, at the other process: ${limit}`, async (t) => {
    const upstream = await upstreamFor(t);
    const { url } = await startProcesses(t, embedded, upstream.url, {
      models: { refused: { targets: ['up1/mock/status=400'] } },
      plans: { default: plan },
    });
    for (let nth = 0; nth < 100; nth++) {
      const { status, text } = await ask(url, '/v1/chat/completions', { ...chat, model: 'refused' });
      assert.equal(status, 400, `request ${nth}: ${text}`);
    }
  });
}

test('an Idempotency-Key is asked once over two processes, and a dead worker keeps none', async (t) => {
  const upstream = await upstreamFor(t);
  upstream.script('/v1/chat/completions', ['always delay=1500ms']);
  const gateway = await startProcesses(t, embedded, upstream.url);
  const keyed = (key: string) => ask(gateway.url, '/v1/chat/completions', chat, undefined, { 'idempotency-key': key });
  const all = await Promise.all(Array.from({ length: 10 }, () => keyed('one')));
  assert.deepEqual(all.map(({ status }) => status).sort(), [200, ...Array(9).fill(409)]);
  const kept = await Promise.all(Array.from({ length: 4 }, () => keyed('one')));
  assert.deepEqual(new Set(kept.map(({ text }) => text)), new Set([all.find(({ status }) => status === 200)!.text]));
  assert.equal(chatsAt(upstream), 1);

  const cut = keyed('two').catch(() => null);
  await until('it is asked', () => chatsAt(upstream) === 2);
  for (const pid of gateway.workers()) process.kill(pid, 'SIGKILL');
  assert.equal(await cut, null);
  await replaced(gateway, 2);
  assert.equal((await keyed('two')).status, 200, 'its worker is over');
});

test('kill -9 of workers under load: what they were answering is charged once, and nothing else is lost', async (t) => {
  const upstream = await upstreamFor(t);
  upstream.script('/v1/chat/completions', ['always delay=100ms']);
  const gateway = await startProcesses(t, embedded, upstream.url, { plans: { default: wide } });
  const { seen, stop } = callers(gateway.url, 12);
  for (let deaths = 1; deaths <= 3; deaths++) {
    await until('they are answered', () => seen.answered > deaths * 30);
    process.kill(gateway.workers()[deaths % 2]!, 'SIGKILL');
    await replaced(gateway, deaths);
  }
  await stop();
  const { events } = await balanced(gateway.url);
  const crashed = events.filter((event) => event.class === 'crashed').length;
  assert.equal(seen.refused, 0);
  assert.equal(events.filter(({ status }) => status === 200).length + crashed >= seen.answered, true);
  assert.ok(crashed > 0 && crashed <= seen.broken, `${crashed} crashed, ${seen.broken} broken`);
  // A reservation comes before its call.
  assert.ok(events.length >= chatsAt(upstream), 'each call of the upstream is in the books');
  assert.match(gateway.log(), /requests of a dead worker were charged with their estimates/);
});

test('kill -9 of the primary: its workers end, and the next start charges what was open once', async (t) => {
  const upstream = await upstreamFor(t);
  upstream.script('/v1/chat/completions', ['always delay=20s']);
  const storage = embedded.storage(t);
  const config = { ...overUpstreams(upstream.url), plans: { default: wide }, server: { processes: 2 }, storage };
  const first = await startGatewayProcess(t, config);
  await until('all workers are ready', async () => (await fetch(`${first.url}/readyz`)).status === 200);
  const workers = childrenOf(first.process.pid!);
  const asked = Array.from({ length: 5 }, () => ask(first.url, '/v1/chat/completions', chat).catch(() => null));
  await until('all are asked', () => chatsAt(upstream) === 5);
  first.process.kill('SIGKILL');
  await once(first.process, 'exit');
  assert.deepEqual(new Set(await Promise.all(asked)), new Set([null]));
  await until('its workers have ended', () => workers.every((pid) => !lives(pid)));

  const next = await startGatewayProcess(t, config);
  const { events } = await balanced(next.url);
  assert.deepEqual(
    events.map((event) => event.class),
    Array(5).fill('crashed'),
  );
});

test('the books stand still: requests are refused with 503 until they go on, and nothing is charged for them', async (t) => {
  const upstream = await upstreamFor(t);
  const gateway = await startProcesses(t, embedded, upstream.url, { plans: { default: wide } });
  assert.equal((await ask(gateway.url, '/v1/chat/completions', chat)).status, 200);
  process.kill(gateway.process.pid!, 'SIGSTOP');
  const late = await ask(gateway.url, '/v1/chat/completions', chat).finally(() =>
    process.kill(gateway.process.pid!, 'SIGCONT'),
  );
  assert.equal(late.status, 503, late.text);
  assert.match(late.text, /the process that keeps the books does not answer/);
  assert.equal((await ask(gateway.url, '/v1/chat/completions', chat)).status, 200);
  assert.equal((await balanced(gateway.url)).units, 2);
});

test('failed logins count for all workers, and gauges of the books are shown once', async (t) => {
  const upstream = await upstreamFor(t);
  const { url } = await startProcesses(t, embedded, upstream.url);
  const tries = Array.from({ length: 12 }, () => ask(url, '/admin/v1/accounts', undefined, 'sk-cv-admin-wrong'));
  const statuses = (await Promise.all(tries)).map(({ status }) => status);
  assert.ok(!statuses.includes(200));
  await until('every worker knows', async () => {
    const more = Array.from({ length: 6 }, () => ask(url, '/admin/v1/accounts', undefined, 'sk-cv-admin-wrong'));
    return (await Promise.all(more)).every(({ status }) => status === 429);
  });
  assert.match(await scrape(url), /^culvert_open_reservations 0$/m);
  assert.equal((await ask(url, '/admin/v1/accounts', undefined, adminKey)).status, 200);
});

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

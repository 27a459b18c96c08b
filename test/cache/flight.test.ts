import assert from 'node:assert/strict';
import { after, beforeEach, type TestContext, test } from 'node:test';
import { casesOf } from '../cases.ts';
import { adminKey, otherKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { ask, type Format } from './formats.ts';

const upstream = await startUpstream();
after(upstream.close);
const path = '/v1/chat/completions';
const gateway = await startGateway({ after } as TestContext, {
  // A thousand callers on a busy machine are more than the loop has time for. Equal requests wait for each other within a
  // process (docs/scale-out.md).
  server: { overload: 'off', processes: 1 },
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  models: { chat: { targets: [{ provider: 'up', model: 'mock/ok' }], cache: { ttl: '1h' }, attempts: 1 } },
});
beforeEach(() => upstream.clear());
const asked = () => upstream.requests().filter(({ method }) => method === 'POST');
/** How often each outcome came. */
function outcomes(answers: readonly { cache: string | null }[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { cache } of answers) sums[`${cache}`] = (sums[`${cache}`] ?? 0) + 1;
  return sums;
}

const callers = casesOf(1_000);

test(`${callers} callers of one cold question, in four formats, whole and streamed, ask once`, async () => {
  // It answers when all of them wait.
  upstream.script(path, ['delay=4s']);
  const all: Format[] = ['chat', 'messages', 'responses', 'gemini'];
  const answers = await Promise.all(
    Array.from({ length: callers }, (_, n) => {
      const format = all[n % 4] ?? 'chat';
      return ask(gateway, format, { text: 'cold', stream: n % 8 > 3 });
    }),
  );
  assert.deepEqual(outcomes(answers), { miss: 1, hit: callers - 1 });
  assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
  assert.equal(asked().length, 1);
});

test('the first caller may leave: the work goes on for the others', async () => {
  // It answers when the others wait, on a busy machine too.
  upstream.script(path, ['delay=4s']);
  const leaving = new AbortController();
  const first = ask(gateway, 'chat', { text: 'leaver', signal: leaving.signal }).catch(() => 'left');
  await upstream.when(({ path: at }) => at === path);
  const others = [ask(gateway, 'chat', { text: 'leaver' }), ask(gateway, 'chat', { text: 'leaver', stream: true })];
  await until('two wait', async () => (await waiting()) === 2);
  leaving.abort();
  assert.equal(await first, 'left');
  assert.deepEqual(outcomes(await Promise.all(others)), { hit: 2 });
  assert.equal(asked().length, 1);
});

test('when all have left, the upstream call ends', async () => {
  upstream.script(path, ['hang']);
  const leaving = new AbortController();
  const ask3 = Array.from({ length: 3 }, () =>
    ask(gateway, 'chat', { text: 'all leave', signal: leaving.signal }).catch(() => 'left'),
  );
  await upstream.when(({ path: at }) => at === path);
  await until('two wait', async () => (await waiting()) === 2);
  leaving.abort();
  assert.deepEqual(await Promise.all(ask3), ['left', 'left', 'left']);
  await upstream.when(({ aborted }) => aborted);
  assert.equal(asked().length, 1);
});

test('those who waited ask alone when the first one fails', async () => {
  upstream.script(path, ['delay=300ms;status=400', 'ok', 'ok']);
  const answers = await Promise.all(Array.from({ length: 3 }, () => ask(gateway, 'chat', { text: 'fails' })));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 400]);
  assert.equal(asked().length, 3);
});

test('the first caller is refused by its own limit: another one asks for all', async (t) => {
  const nothing = { get: () => new Promise<null>((resolve) => setTimeout(resolve, 5, null)), put: async () => {} };
  const config = {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: { chat: { targets: [{ provider: 'up', model: 'mock/ok' }], cache: { ttl: '1h', scope: 'all' } } },
    plans: { default: { windows: 'off', rpm: 'off' }, one: { windows: { '5h': 1 }, rpm: 'off' } },
    accounts: { other: { plan: 'one' } },
  };
  const cache = { ...nothing, clear: async () => 0, stats: async () => [], close: async () => {} };
  const limited = await startGateway(t, config, { cache });
  upstream.script(path, ['ok', 'delay=300ms']);
  assert.equal((await ask(limited, 'chat', { text: 'uses it up', key: otherKey })).status, 200);
  const first = ask(limited, 'chat', { text: 'refused', key: otherKey });
  const others = Array.from({ length: 10 }, () => ask(limited, 'chat', { text: 'refused' }));
  assert.equal((await first).status, 429);
  assert.deepEqual(outcomes(await Promise.all(others)), { miss: 1, hit: 9 });
  assert.equal(asked().length, 2);
});

test('one that waits keeps its own deadline', async () => {
  // The second one too: a waiter that gives up a moment before its deadline asks for itself.
  upstream.script(path, ['delay=1500ms', 'delay=1500ms']);
  const first = ask(gateway, 'chat', { text: 'deadline' });
  await upstream.when(({ path: at }) => at === path);
  const headers = { 'x-culvert-timeout-ms': '200' };
  const hasty = await ask(gateway, 'chat', { text: 'deadline', headers });
  assert.ok(hasty.status >= 500, hasty.body);
  assert.equal((await first).status, 200);
  upstream.script(path, []);
});

/** Requests that wait for an equal one. */
async function waiting(): Promise<number> {
  const response = await gateway.fetch('/metrics', { headers: { authorization: `Bearer ${adminKey}` } });
  const line = (await response.text()).match(/^culvert_cache_waiting_requests (\d+)/m);
  return line === null ? 0 : Number(line[1]);
}

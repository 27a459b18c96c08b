import assert from 'node:assert/strict';
import { Agent, get } from 'node:http';
import { test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import { openAiChat } from '../../src/formats/dialects/openai-chat/index.ts';
import type { Exchange, Route } from '../../src/http/exchange.ts';
import { startBareServer } from '../contract/bare-server.ts';
import { fakeClock } from '../fake-clock.ts';
import { until } from '../until.ts';

/** What each request takes of the loop, by a clock that nothing else moves. */
const workMs = 20;

interface Answer {
  status: number;
  headers: Record<string, unknown>;
  body: string;
}

async function startBusyServer(
  t: { after(fn: () => unknown): void },
  overload: { delay: number } | 'off' = { delay: 250 },
) {
  const clock = fakeClock();
  const served: string[] = [];
  const answer = ({ response }: Exchange) => void response.end('done');
  const plain = { method: 'GET', quota: 'none', summary: '', dialect: openAiChat } as const;
  const routes: Route[] = [
    {
      ...plain,
      path: '/v1/work',
      auth: 'key',
      handle(exchange) {
        const account = exchange.principal?.account ?? '';
        served.push(account);
        clock.advance(account === 'long' ? 1_000 : workMs);
        answer(exchange);
      },
    },
    { ...plain, path: '/healthz', auth: 'none', handle: answer },
    { ...plain, path: '/admin/v1/look', auth: 'admin', handle: answer },
  ];
  const { url } = await startBareServer(t, { clock, routes, overload, accountOf: (key) => key.replace('Bearer ', '') });
  function ask(account: string, path = '/v1/work', headers: Record<string, string> = {}, by?: Agent): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sent = get(url + path, { agent: by ?? false, headers: { authorization: `Bearer ${account}`, ...headers } });
      sent.on('error', reject);
      sent.on('response', (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (text: string) => {
          body += text;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
      });
    });
  }

  /** So many requests of an account that floods; of those that take turns, sixteen tell how long each takes. */
  async function flood(requests: number): Promise<Promise<Answer>[]> {
    // The look at the loop that is begun with it comes late.
    await ask('long');
    await after(100);
    served.length = 0;
    const answers = Array.from({ length: requests }, () => ask('flood'));
    await until('the pace is known', () => served.length > 16);
    return answers;
  }

  return { ask, flood, served, clock };
}

test('who floods gets 503 with Retry-After; another account, health and operators are served', async (t) => {
  const { ask, flood } = await startBusyServer(t);
  const flooding = await flood(200);
  const others = await Promise.all([ask('few'), ask('few', '/healthz'), ask('few', '/admin/v1/look')]);
  assert.deepEqual(
    others.map(({ status }) => status),
    [200, 200, 200],
  );
  const answers = await Promise.all(flooding);
  const refused = answers.filter(({ status }) => status !== 200);
  assert.ok(refused.length > 100, `${refused.length} of 200 are refused`);
  for (const { status, headers, body } of refused) {
    assert.deepEqual([status, headers['retry-after'], headers['x-should-retry']], [503, '1', 'true']);
    assert.equal((JSON.parse(body) as { error: { type: string } }).error.type, 'overloaded_error');
  }
});

test('a refused connection is read again when its caller was told to come; that of a proxy at once', async (t) => {
  const { ask, flood, clock } = await startBusyServer(t);
  await Promise.all(await flood(100));
  /** A connection on which the last request was refused. */
  async function refusedOne(headers: Record<string, string>): Promise<Agent> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    t.after(() => agent.destroy());
    await until('it is refused', async () => {
      const others = Array.from({ length: 30 }, () => ask('flood'));
      const { status } = await ask('flood', '/v1/work', headers, agent);
      await Promise.all(others);
      return status === 503;
    });
    return agent;
  }
  const own = await refusedOne({});
  let read = false;
  const again = ask('flood', '/healthz', {}, own).then((answer) => {
    read = true;
    return answer;
  });
  await after(100);
  assert.equal(read, false);
  clock.advance(1_000);
  assert.equal((await again).status, 200);
  const proxied = await refusedOne({ 'x-forwarded-for': '192.0.2.1' });
  assert.equal((await ask('flood', '/healthz', {}, proxied)).status, 200);
});

test('once the load is gone, all are served as they come', async (t) => {
  const { ask, flood, clock } = await startBusyServer(t);
  await Promise.all(await flood(100));
  const calmAtMs = clock.monotonicMs() + 1_000;
  await until('it is calm', () => {
    clock.advance(10);
    return clock.monotonicMs() > calmAtMs;
  });
  const burst = await Promise.all(Array.from({ length: 20 }, () => ask('flood')));
  assert.ok(burst.every(({ status }) => status === 200));
});

test('with overload off, nobody is refused', async (t) => {
  const { flood } = await startBusyServer(t, 'off');
  const answers = await Promise.all(await flood(200));
  assert.ok(answers.every(({ status }) => status === 200));
});

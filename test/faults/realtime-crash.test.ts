import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { WebSocket } from 'ws';
import { SocketCaller } from '../contract/heard-events.ts';
import { testKey } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { temporaryFolder } from '../start-process.ts';
import { startRealtime } from '../upstream-formats/start-realtime.ts';
import { balanced, booksOf } from './books-balance.ts';
import { startGatewayProcess } from './gateway-process.ts';

/** What four sessions cost of which a kill finds one idle, two in a response, and one after a whole response. */
async function killed(t: TestContext, storage: Record<string, unknown>): Promise<void> {
  const upstream = await startRealtime(t);
  const config = {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: { voice: { targets: ['up/gpt-realtime'] } },
    plans: { default: { windows: { '5h': 1_000, week: 2_000, month: 3_000 }, rpm: 'off' } },
    storage: { data_dir: join(temporaryFolder(t), 'data'), ...storage },
  };
  const { url, process } = await startGatewayProcess(t, config);
  const open = async () => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/realtime?model=voice`, {
      headers: { authorization: `Bearer ${testKey}` },
    });
    let id = '';
    socket.on('upgrade', ({ headers }) => {
      id = String(headers['x-culvert-request-id']);
    });
    const caller = new SocketCaller(socket);
    await once(socket, 'open');
    await caller.heard('session.created');
    return Object.assign(caller, { id });
  };
  const whole = await open();
  whole.send('response.create');
  await whole.heard('response.done');
  upstream.answers = 'begun';
  const [idle, begun, unasked] = [await open(), await open(), await open()];
  begun.send('response.create');
  await begun.heard('response.created');
  // The provider hears a pause, and begins by itself.
  upstream.sessions.at(-1)!.send({ type: 'response.created', event_id: 'e', response: { id: 'resp_unasked' } });
  await unasked.heard('response.created');
  // The rows of what has begun are written meanwhile.
  await balancedBut(url, 3);
  process.kill('SIGKILL');
  await once(process, 'exit');

  const again = await startGatewayProcess(t, config);
  const { events } = await balanced(again.url, 90_000);
  const unitsOf = (id: string) => events.find((event) => event.id === id)?.units;
  assert.deepEqual(
    [whole, idle, begun, unasked].map(({ id }) => unitsOf(id)),
    [1, 0, 1, 1],
  );
  assert.equal(events.length, 4);
}

/** Waits until the ledger has the settled ones, and only so many are open. */
async function balancedBut(url: string, open: number): Promise<void> {
  for (;;) {
    const books = await booksOf(url);
    if (books.events.length === 1 && books.open === open) return;
  }
}

test('F38 a session that a kill cuts off costs nothing until a response begins', (t) => killed(t, {}));

test(
  'F38 a session that a kill cuts off costs nothing until a response begins, over PostgreSQL',
  {
    skip: postgresMissing,
  },
  async (t) => killed(t, { database: (await startPostgres(t)).newDatabase() }),
);

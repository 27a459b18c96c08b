import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { otherKey, testKey } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { temporaryFolder } from '../start-process.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { startGatewayProcess } from './gateway-process.ts';
import { type ObjectKeeper, startObjectKeeper } from './object-keeper.ts';
import { storageOver } from './replicas.ts';

const skip = postgresMissing || redisMissing;

const over = ({ url }: ObjectKeeper) => ({
  providers: {
    oa: {
      type: 'openai',
      base_url: `${url}/v1`,
      dialects: ['openai-responses'],
      credentials: [{ api_key: 'org-1' }, { api_key: 'org-2' }],
    },
  },
  models: { gpt: { targets: [{ provider: 'oa', model: 'gpt-5' }] } },
  keys: [
    { key: testKey, account: 'dev', name: 'test' },
    { key: otherKey, account: 'other', name: 'test' },
  ],
});

/** Asked again while the books are refused for taking more than 250 ms, as they may on a machine under load. */
async function respond(url: string, key: string, body: object): Promise<{ status: number; id: string }> {
  for (let tries = 1; ; tries++) {
    const answer = await fetch(`${url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt', input: 'Hi', ...body }),
    });
    const { id = '' } = (await answer.json()) as { id?: string };
    if (answer.status !== 503 || tries === 100) return { status: answer.status, id };
    await pause(50);
  }
}

test('S25 what one replica gave out, every replica knows at once, and whose it is', { skip }, async (t) => {
  const [postgres, redis] = await Promise.all([startPostgres(t), startRedis(t)]);
  const keeper = await startObjectKeeper(t);
  const storage = storageOver(postgres.newDatabase(), redis);
  const replicas = await Promise.all(
    Array.from({ length: 2 }, () =>
      startGatewayProcess(t, { ...over(keeper), storage: { ...storage, data_dir: join(temporaryFolder(t), 'data') } }),
    ),
  );
  for (let i = 0; i < 20; i++) {
    const [here, there] = i % 2 === 0 ? replicas : replicas.toReversed();
    const { id } = await respond(here!.url, testKey, { input: `Conversation ${i}.` });
    const home = keeper.requests.at(-1)!.credential;
    const next = await respond(there!.url, testKey, { previous_response_id: id });
    assert.equal(next.status, 200, `conversation ${i}`);
    assert.equal(keeper.requests.at(-1)!.credential, home);
    const asked = keeper.requests.length;
    for (const { url } of replicas) {
      assert.equal((await respond(url, otherKey, { previous_response_id: id })).status, 404);
    }
    assert.equal(keeper.requests.length, asked);
  }
});

test('S25 an answer that a caller has seen is theirs after kill -9', async (t) => {
  const keeper = await startObjectKeeper(t);
  const config = { ...over(keeper), storage: { data_dir: join(temporaryFolder(t), 'data') } };
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) {
    const gateway = await startGatewayProcess(t, config);
    for (const id of ids) {
      assert.equal((await respond(gateway.url, testKey, { previous_response_id: id })).status, 200);
      assert.equal((await respond(gateway.url, otherKey, { previous_response_id: id })).status, 404);
    }
    for (let n = 0; n < 5; n++) ids.push((await respond(gateway.url, testKey, { input: `${i} ${n}` })).id);
    gateway.process.kill('SIGKILL');
    await once(gateway.process, 'exit');
  }
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { storageOver } from '../faults/replicas.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { temporaryFolder } from '../start-process.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { openWorld, type ResponsesWorld } from './world.ts';

/* A response in the background, followed over a replica that does not run it. */

const skip = postgresMissing || redisMissing;

/** Two replicas over one database, whose upstream does as `model` names it. */
async function twoReplicas(t: TestContext, model: string): Promise<[ResponsesWorld, ResponsesWorld]> {
  const [postgres, redis] = await Promise.all([startPostgres(t), startRedis(t)]);
  const database = postgres.newDatabase();
  const started = () =>
    openWorld(t, { storage: { ...storageOver(database, redis), data_dir: temporaryFolder(t) } }, model);
  return [await started(), await started()];
}

test('it is followed to its end, and afterwards from any event on', { skip }, async (t) => {
  const [one, two] = await twoReplicas(t, 'mock/chunks=20;interval=50ms');
  const { id } = await one.client.responses.create({ model: 'chat', input: 'Hi', background: true });
  const followed = async (after?: number) => {
    const events: { type: string; sequence_number: number }[] = [];
    const query = after === undefined ? {} : { starting_after: after };
    const stream = await two.client.responses.retrieve(id, { stream: true, ...query });
    for await (const { type, sequence_number } of stream) events.push({ type, sequence_number });
    return events;
  };
  const events = await followed();
  assert.deepEqual([events[0]?.type, events.at(-1)?.type], ['response.created', 'response.completed']);
  assert.deepEqual(
    events.map(({ sequence_number }) => sequence_number),
    events.map((_, at) => at),
  );
  assert.deepEqual(await followed(4), events.slice(5));
});

test('its stream ends where it is deleted meanwhile', { skip }, async (t) => {
  const [one, two] = await twoReplicas(t, 'mock/chunks=1000;interval=100ms');
  // One that is deleted before the other replica has looked for it is found by nobody: then later.
  for (let laterMs = 100; ; laterMs *= 2) {
    const { id } = await one.client.responses.create({ model: 'chat', input: 'Hi', background: true });
    const following = two.gateway.fetch(`/v1/responses/${id}?stream=true`);
    await pause(laterMs);
    await one.client.responses.delete(id);
    const answer = await following;
    const text = await answer.text();
    if (answer.status === 404) continue;
    assert.deepEqual([answer.status, text], [200, '']);
    break;
  }
});

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { listening } from '../listening.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { temporaryFolder } from '../start-process.ts';
import { until } from '../until.ts';
import { openWorld } from './world.ts';

const allowed = 1024 * 1024;
const plans = { default: { windows: 'off', rpm: 'off', storage: allowed } };

async function keepsWithinThePlan(t: TestContext, storage: Record<string, unknown>): Promise<void> {
  let says = () => 'Hello.';
  const upstream = createServer(async (request, response) => {
    for await (const _ of request);
    const message = { role: 'assistant', content: says() };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices }));
  });
  const providers = { up: { type: 'openai', base_url: await listening(t, upstream), api_key: 'k' } };
  const started = () => openWorld(t, { plans, storage, providers, models: { chat: { targets: ['up/m'] } } });
  const stored = async ({ gateway }: Awaited<ReturnType<typeof started>>) => {
    const usage = (await (await gateway.fetch('/v1/usage')).json()) as { storage: { responses: number } };
    return usage.storage.responses;
  };
  const first = await started();
  let kept = 0;
  // Random text, since what is kept may be compressed.
  const input = () => Buffer.from(crypto.getRandomValues(new Uint8Array(60_000))).toString('base64');
  for (; kept < 40; kept++) {
    const response = await first.client.responses.create({ model: 'chat', input: input() });
    if ((response as { store?: boolean }).store === false) break;
  }
  assert.ok(kept > 5 && kept < 40, `${kept} were kept`);
  // One more did not fit.
  const isNearlyFull = (bytes: number) => bytes <= allowed && bytes > allowed - 200_000;
  assert.ok(isNearlyFull(await stored(first)));

  // More than is left, of any part.
  const long = () => Array.from({ length: 6 }, input).join('');
  const item = { type: 'message' as const, role: 'user' as const, content: long() };
  await assert.rejects(first.client.conversations.create({ items: [item] }), { status: 429 });
  says = long;
  const { id } = await first.client.responses.create({ model: 'chat', input: 'Hi', background: true });
  let ended = await first.client.responses.retrieve(id);
  await until('it has ended', async () => {
    ended = await first.client.responses.retrieve(id);
    return ended.status !== 'queued' && ended.status !== 'in_progress';
  });
  assert.deepEqual([ended.status, ended.error?.code, ended.output], ['failed', 'rate_limit_exceeded', []]);
  await first.gateway.close(0);
  // What a server knows of those before it, it has read from the database.
  assert.ok(isNearlyFull(await stored(await started())));
}

test('responses count in the storage of the plan', (t) => keepsWithinThePlan(t, { data_dir: temporaryFolder(t) }));

test('responses in PostgreSQL count too', { skip: postgresMissing }, async (t) => {
  const url = (await startPostgres(t)).newDatabase();
  await keepsWithinThePlan(t, { data_dir: temporaryFolder(t), database: url });
});

// Runs with nothing beside it: the answers are to come while PostgreSQL is stopped, not behind it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import OpenAI from 'openai';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { startUpstream } from '../start-upstream.ts';

const callers = 12;

test('turns whose answers come while PostgreSQL is late are in their conversations once', {
  skip: postgresMissing,
}, async (t) => {
  const postgres = await startPostgres(t);
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const storage = { database: postgres.newDatabase(), secret: 'a secret of thirty-two bytes or more' };
  const gateway = await startGateway(t, { ...overUpstreams(upstream.url), storage });
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0 });
  const conversations = await Promise.all(Array.from({ length: callers }, () => client.conversations.create()));
  upstream.script(
    '/v1/chat/completions',
    conversations.map(() => 'delay=700ms'),
  );
  const turns = conversations.map(({ id }) =>
    client.responses.create({ model: 'chat', input: 'Hello', conversation: id }),
  );
  while (upstream.requests().filter(({ method }) => method === 'POST').length < callers) await after(5);
  const goOn = postgres.stall();
  // More than a second behind the answers: by then those that wait for a connection have failed.
  await after(2_200).finally(goOn);
  for (const [at, turn] of (await Promise.all(turns)).entries()) {
    assert.notEqual((turn as { store?: boolean }).store, false);
    const { data } = await client.conversations.items.list(conversations[at]!.id, { order: 'asc' });
    assert.deepEqual(
      data.map((item) => item.type === 'message' && item.role),
      ['user', 'assistant'],
    );
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBodyWorkers } from './body-workers.ts';

const body = () => Buffer.from(JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] }));

test('F23 a large body that comes just as the idle worker is let go is read by a new one', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const workers = createBodyWorkers();
  const first = await workers.readInThread('a', body(), 'openai-chat');
  assert.ok(first.ok);
  first.value.release();
  t.mock.timers.tick(60_000);
  const second = await workers.readInThread('a', body(), 'openai-chat');
  assert.ok(second.ok);
  assert.equal(second.value.facts.model, 'chat');
  second.value.release();
  await workers.close();
});

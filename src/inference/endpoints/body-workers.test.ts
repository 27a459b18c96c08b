import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFailure } from '../../kernel/failure.ts';
import { createBodyWorkers } from './body-workers.ts';

const body = () => Buffer.from(JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] }));

test('F23 a large body that comes just as the idle worker is let go is read by a new one', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const workers = createBodyWorkers();
  const first = await workers.readInThread('a', body(), 'openai-chat');
  assert.ok(!isFailure(first));
  first.release();
  t.mock.timers.tick(60_000);
  const second = await workers.readInThread('a', body(), 'openai-chat');
  assert.ok(!isFailure(second));
  assert.equal(second.facts.model, 'chat');
  second.release();
  await workers.close();
});

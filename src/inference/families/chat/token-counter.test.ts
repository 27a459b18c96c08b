// Slow: `npm test` runs it, `npm run check` does not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFailure } from '../../../kernel/failure.ts';
import { createTokenCounter } from './token-counter.ts';

/** With its tables in memory: on a busy machine they come after the first body has given up. */
async function warmCounter() {
  const counter = createTokenCounter();
  while ((await counter.count('a', bodyOf('x'), 'anthropic-messages')) === null);
  return counter;
}

const bodyOf = (content: string) => Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] }));

test('bodies are counted at the same time, each by its own text, and the caller keeps its bytes', async () => {
  const counter = await warmCounter();
  const bodies = Array.from({ length: 25 }, (_, i) => bodyOf('word '.repeat(10 * (i + 1))));
  const counts = await Promise.all(bodies.map((body) => counter.count('a', body, 'anthropic-messages')));
  const tokens = counts.map((count) => (count === null || isFailure(count) ? -1 : count.inputTokens));
  for (let i = 1; i < tokens.length; i++) assert.equal(tokens[i]! - tokens[i - 1]!, 10);
  assert.match(bodies[0]!.toString(), /word/);
  await counter.close();
});

test('a body that is wrong is a refusal, and the next one is counted', async () => {
  const counter = await warmCounter();
  const wrong = await counter.count('a', Buffer.from('{"model":'), 'anthropic-messages');
  assert.ok(isFailure(wrong));
  assert.ok(!isFailure(await counter.count('a', bodyOf('x'), 'anthropic-messages')));
  await counter.close();
});

test('more than 64 MB at once is not counted, and does not wait', async () => {
  const counter = createTokenCounter();
  const large = bodyOf(' x'.repeat(12_000_000));
  const counts = Array.from({ length: 4 }, () => counter.count('a', large, 'anthropic-messages'));
  assert.deepEqual(await Promise.all(counts.slice(2)), [null, null]);
  await counter.close();
});

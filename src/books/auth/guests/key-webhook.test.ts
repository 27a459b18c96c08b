import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { fakeClock } from '../../../../test/fake-clock.ts';
import { listening } from '../../../../test/listening.ts';
import { isFailure } from '../../../kernel/failure.ts';
import { KeyWebhook } from './key-webhook.ts';

test('a flood of wrong keys makes no right key forgotten', async (t) => {
  const asked: string[] = [];
  const service = createServer((request, response) => {
    void request.toArray().then((chunks) => {
      const { key } = (JSON.parse(Buffer.concat(chunks).toString()) as { data: { key: string } }).data;
      asked.push(key);
      response.writeHead(key.startsWith('right') ? 200 : 401).end('{"account": "team"}');
    });
  });
  const config = {
    url: `${await listening(t, service)}/who`,
    secret: 'a-secret-of-at-least-thirty-two-bytes',
    deadline: 5_000,
    cache: 60_000,
    refusals_cache: 60_000,
  };
  const webhook = new KeyWebhook(config, fakeClock(), { keysMax: 10 });
  assert.ok(!isFailure(await webhook.caller('right', '192.0.2.1')));
  for (let i = 0; i < 50; i++) await webhook.caller(`wrong-${i}`, `198.51.100.${i % 9}`);
  assert.ok(!isFailure(await webhook.caller('right', '192.0.2.1')));
  assert.equal(asked.filter((key) => key === 'right').length, 1);
  // Wrong ones are bounded too.
  await webhook.caller('wrong-0', '198.51.100.1');
  assert.equal(asked.filter((key) => key === 'wrong-0').length, 2);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readForwarded } from './forwarded-body.ts';

test('what a service refuses of a chat stays in the body of another endpoint', async () => {
  const text = '{ "model":"ours","query":"q", "documents":["d"] , "n":2,"max_completion_tokens":1.0e1 }';
  const read = readForwarded(Buffer.from(text), 'rerank');
  assert.ok(read.ok);
  const order = { dialect: 'openai-chat', model: 'theirs', maxOutputTokens: null, body: {}, child: null } as const;
  const encoded = await read.value.encode({ provider: 'cohere', ...order });
  assert.ok(encoded.ok);
  assert.equal(encoded.value.bytes.toString(), text.replace('"ours"', '"theirs"'));
  assert.deepEqual(encoded.value.losses, []);
});

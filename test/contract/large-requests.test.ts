import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import OpenAI, { toFile } from 'openai';
import { startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/* Requests above 1 MB are read in a thread of their own. Everything that small ones can do works for them too. */

const t = { after: after as TestContext['after'] };
const upstream = await startUpstream();
t.after(() => upstream.close());
const gateway = await startGateway(t, {
  providers: { chat: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  models: { chat: { targets: ['chat/mock/ok'] } },
});
const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey, maxRetries: 0 });
const large = 'x'.repeat(1_200_000);

function keyed(content: string): Promise<Response> {
  const json = { model: 'chat', messages: [{ role: 'user', content }] };
  return gateway.fetch('/v1/chat/completions', { json, headers: { 'idempotency-key': 'large-1' } });
}

test('an Idempotency-Key tells two large bodies apart', async () => {
  const first = await keyed(large);
  assert.equal(first.status, 200);
  const again = await keyed(large);
  assert.deepEqual([again.status, await again.text()], [200, await first.text()]);
  assert.equal((await keyed(`${large}!`)).status, 409);
});

test('a large response is kept, continued, run in the background and put into a conversation', async () => {
  const first = await client.responses.create({ model: 'chat', input: large });
  const next = await client.responses.create({ model: 'chat', input: 'More', previous_response_id: first.id });
  assert.equal(next.status, 'completed');
  const both = await client.responses.create({ model: 'chat', input: large, previous_response_id: first.id });
  assert.equal(both.status, 'completed');
  const { id } = await client.conversations.create({});
  const within = await client.responses.create({ model: 'chat', input: large, conversation: id });
  assert.equal(within.status, 'completed');
  const begun = await client.responses.create({ model: 'chat', input: large, background: true });
  assert.ok(begun.status === 'queued' || begun.status === 'in_progress');
});

test('a large body may name an uploaded file', async () => {
  const upload = await toFile(Buffer.from('name,legs\npanda,4'), 'c.csv');
  const { id } = await client.files.create({ file: upload, purpose: 'user_data' });
  const answer = await client.chat.completions.create({
    model: 'chat',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: large },
          { type: 'file', file: { file_id: id } },
        ],
      },
    ],
  });
  assert.equal(answer.choices[0]!.finish_reason, 'stop');
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { batchWhen, beginBatch, chatLine, hasEnded, openAi, resultsIn } from './world.ts';

async function world(t: TestContext) {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const { url, dataDir } = await startGateway(t, {
    providers: { chat: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: { chat: { targets: ['chat/mock/delay=200ms'] } },
  });
  const client = openAi(url, testKey);
  // It makes the database.
  await client.files.list();
  const database = new DatabaseSync(join(dataDir, 'batches.db'), { timeout: 10_000 });
  t.after(() => database.close());
  return { client, database };
}

test('results of a batch are there once, however often its end was begun', async (t) => {
  const { client, database } = await world(t);
  database.exec("CREATE TRIGGER no_end BEFORE UPDATE OF ending ON batch BEGIN SELECT RAISE(ABORT, 'no'); END");
  const { id } = await beginBatch(client, [chatLine('one')]);
  const rests = database.prepare('SELECT 1 FROM batch WHERE finalizing_ms IS NOT NULL AND lease_until_ms < ?');
  while (rests.get(Date.now() + 11_000) === undefined) await pause(50);
  assert.deepEqual((await client.files.list({ purpose: 'batch_output' })).data, []);
  database.exec('DROP TRIGGER no_end');
  const { status, output_file_id } = await batchWhen(client, id, hasEnded);
  assert.equal(status, 'completed');
  const found = await client.files.list({ purpose: 'batch_output' });
  assert.deepEqual(
    found.data.map((file) => file.id),
    [output_file_id],
  );
});

test('a batch whose file becomes unreadable fails, and keeps what was answered', async (t) => {
  const { client, database } = await world(t);
  // Some 2 MB: the second piece of the file is read when the lines of the first one have begun.
  const messages = [{ role: 'user', content: 'word '.repeat(2_000) }];
  const lines = Array.from({ length: 200 }, (_, index) => chatLine(`${index}`, { messages }));
  const { id, input_file_id } = await beginBatch(client, lines);
  await batchWhen(client, id, ({ request_counts: counts }) => counts!.completed > 0);
  database.prepare('DELETE FROM file_chunk WHERE file = ? AND seq = 1').run(input_file_id);
  const batch = await batchWhen(client, id, hasEnded);
  assert.equal(batch.status, 'failed');
  assert.equal(batch.errors!.data![0]!.code, 'file_unreadable');
  const results = await resultsIn(client, batch.output_file_id);
  assert.ok(results.length > 0);
  assert.equal(results.length, batch.request_counts!.completed);
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { startGatewayProcess } from '../faults/gateway-process.ts';
import { overUpstreams, testKey } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { batchWhen, beginBatch, chatLine, hasEnded, openAi } from './world.ts';

/** A lease lasts for 30 s. */
const goesOnMaxMs = 15_000;
const lines = 100;

test('a batch goes on at once when a server of two processes was killed and is started again', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  upstream.script('/v1/chat/completions', ['always delay=100ms']);
  const config = {
    ...overUpstreams(upstream.url),
    server: { processes: 2 },
    storage: { data_dir: temporaryFolder(t) },
  };
  const killed = await startGatewayProcess(t, config);
  const client = openAi(killed.url, testKey);
  const { id } = await beginBatch(
    client,
    Array.from({ length: lines }, (_, index) => chatLine(`line-${index}`)),
  );
  await batchWhen(client, id, ({ request_counts: counts }) => counts!.completed > 0);
  killed.process.kill('SIGKILL');
  await once(killed.process, 'exit');
  await startGatewayProcess(t, config, { at: killed.url });
  const againMs = performance.now();
  const batch = await batchWhen(client, id, hasEnded);
  assert.deepEqual(batch.request_counts, { total: lines, completed: lines, failed: 0 });
  assert.ok(performance.now() - againMs < goesOnMaxMs, `it rested for ${performance.now() - againMs} ms`);
});

import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { assertWithin } from '../machine-load.ts';
import { ask, childrenOf, inOnly, overBoth, replaced, startProcesses } from '../processes/start-processes.ts';
import { adminKey, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { batchWhen, beginBatch, chatLine, hasEnded, openAi, resultsIn } from './world.ts';

/** A lease lasts for 30 s. */
const takenOverMaxMs = 15_000;
const lines = 320;

/** All workers and the spare, then those that take their places, before one of them serves. */
async function killTwice(primary: number) {
  const victims = childrenOf(primary);
  for (const pid of victims) process.kill(pid, 'SIGKILL');
  const inTheirPlaces = () => childrenOf(primary).filter((pid) => !victims.includes(pid));
  await until('others take their places', () => inTheirPlaces().length >= 2);
  for (const pid of inTheirPlaces()) process.kill(pid, 'SIGKILL');
}

overBoth(
  'a batch of a killed worker goes on at once, in another one or in the one that replaces it',
  async (t, over) => {
    const upstream = await startUpstream();
    t.after(() => upstream.close());
    upstream.script('/v1/chat/completions', ['always delay=500ms']);
    const gateway = await startProcesses(t, over, upstream.url);
    const client = openAi(gateway.url, testKey);
    const asked = Array.from({ length: lines }, (_, index) => chatLine(`line-${index}`));
    const [first, second] = gateway.workers() as [number, number];
    // It is leased by the one that creates it.
    const { id } = await inOnly(second, () => beginBatch(client, asked));
    for (const round of [0, 1]) {
      await batchWhen(client, id, ({ request_counts: counts }) => counts!.completed >= 40 * (round + 1));
      const killedMs = performance.now();
      if (round === 0) process.kill(first, 'SIGKILL');
      else await killTwice(gateway.process.pid!);
      await replaced(gateway, round === 0 ? 1 : 3);
      const { completed: before } = (await client.batches.retrieve(id)).request_counts!;
      await batchWhen(client, id, (now) => hasEnded(now) || now.request_counts!.completed > before);
      const tookMs = performance.now() - killedMs;
      t.diagnostic(`${tookMs.toFixed(0)} ms`);
      assertWithin(tookMs, takenOverMaxMs);
    }
    const batch = await batchWhen(client, id, hasEnded);
    assert.deepEqual(batch.request_counts, { total: lines, completed: lines, failed: 0 });
    const results = await resultsIn(client, batch.output_file_id);
    assert.deepEqual(
      results.map(({ custom_id }) => custom_id),
      asked.map((_, index) => `line-${index}`),
    );
    // Lines that a dead worker had under way are charged once: over PostgreSQL by whoever looks next.
    const answered = results.map(({ response }) => response!.request_id).toSorted();
    await until('each line is charged once', async () => {
      const { text } = await ask(gateway.url, '/admin/v1/requests.jsonl', undefined, adminKey);
      const events = text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { id: string; units: number });
      const charged = events.filter(({ units }) => units === 1).map(({ id: requestId }) => requestId);
      return isDeepStrictEqual(charged.toSorted(), answered);
    });
  },
);

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { startGatewayProcess } from '../faults/gateway-process.ts';
import { adminKey, testKey } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { batchWhen, beginBatch, chatLine, hasEnded, openAi, resultsIn } from './world.ts';

const lines = 400;
const kills = 10;
/** And one ends as it is told to. */
const ends = kills + 1;

test('a batch outlives ten kills: every line is answered once and charged once', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const folder = temporaryFolder(t);
  const config = {
    storage: { data_dir: folder },
    providers: { mock: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: { chat: { targets: ['mock/mock/delay=40ms'] } },
  };
  let gateway = await startGatewayProcess(t, config);
  const at = gateway.url;
  const client = openAi(at, testKey);
  const asked = Array.from({ length: lines }, (_, index) => chatLine(`line-${index}`));
  const { id } = await beginBatch(client, asked);
  for (let end = 1; end <= ends; end++) {
    const done = Math.floor((lines / (ends + 1)) * end);
    await batchWhen(client, id, ({ request_counts: counts }) => counts!.completed >= done);
    gateway.process.kill(end <= kills ? 'SIGKILL' : 'SIGTERM');
    await once(gateway.process, 'exit');
    gateway = await startGatewayProcess(t, config, { at });
  }
  const batch = await batchWhen(client, id, hasEnded);
  assert.equal(batch.status, 'completed');
  assert.deepEqual(batch.request_counts, { total: lines, completed: lines, failed: 0 });

  const results = await resultsIn(client, batch.output_file_id);
  const names = results.map(({ custom_id }) => custom_id);
  assert.deepEqual(
    names,
    asked.map((_, index) => `line-${index}`),
  );
  assert.equal(batch.error_file_id, null);

  const events = await eventsOf(at);
  assert.ok(
    events.some(({ class: how }) => how === 'crashed'),
    'some line was under way when its process died',
  );
  const charged = events.filter(({ units }) => units > 0);
  assert.equal(charged.length, lines, 'as many requests are charged as there are lines');
  assert.equal(
    charged.reduce((sum, { units }) => sum + units, 0),
    lines,
  );
  const answered = new Set(results.map(({ response }) => response!.request_id));
  assert.deepEqual(new Set(charged.map(({ id: requestId }) => requestId)), answered);
});

/** Every request in the ledger. */
async function eventsOf(url: string): Promise<Event[]> {
  const headers = { authorization: `Bearer ${adminKey}` };
  const text = await (await fetch(`${url}/admin/v1/requests.jsonl`, { headers })).text();
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Event);
}

interface Event {
  id: string;
  class: string;
  units: number;
}

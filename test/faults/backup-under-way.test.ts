import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import { writeBackupFile } from '../../src/cli/backup-file.ts';
import { readBackup } from '../../src/stores/read-backup.ts';
import { batchWhen, beginBatch, chatLine, hasEnded, openAi, resultsIn } from '../batches/world.ts';
import { adminKey, testKey } from '../start-gateway.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { startGatewayProcess } from './gateway-process.ts';

const lines = 200;

test('a batch that runs while a backup is made goes on after the restore: each line is answered once and charged once', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const [from, to] = [temporaryFolder(t), temporaryFolder(t)];
  const config = (data_dir: string) => ({
    storage: { data_dir },
    providers: { mock: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
    models: { chat: { targets: ['mock/mock/delay=40ms'] } },
  });
  const first = await startGatewayProcess(t, config(from));
  const asked = Array.from({ length: lines }, (_, index) => chatLine(`line-${index}`));
  const client = openAi(first.url, testKey);
  const { id } = await beginBatch(client, asked);
  await batchWhen(client, id, ({ request_counts: counts }) => counts!.completed >= 20);
  /** A large ledger takes minutes to read: as long as that, lines are answered. */
  async function* slowly() {
    let isPaused = false;
    for await (const item of readBackup({ database: 'sqlite', data_dir: from }, join(to, 'scratch'))) {
      if (!isPaused && 'table' in item && item.table === 'usage_event') {
        isPaused = true;
        const done = upstream.requests().length;
        while (upstream.requests().length < done + 60) await after(20);
      }
      yield item;
    }
  }
  const file = join(to, 'backup.gz');
  const head = { culvert: '0.2.0', format: 2, at: new Date().toISOString(), database: 'sqlite' } as const;
  await writeBackupFile(file, head, slowly(), () => {});
  await batchWhen(client, id, hasEnded);
  first.process.kill('SIGTERM');

  const restored = join(to, 'data');
  writeFileSync(join(to, 'culvert.yaml'), JSON.stringify({ storage: { data_dir: restored } }));
  assert.equal((await runCommand(['restore', file], { cwd: to })).code, 0);
  const second = await startGatewayProcess(t, config(restored));
  const there = openAi(second.url, testKey);
  const batch = await batchWhen(there, id, hasEnded);
  const results = await resultsIn(there, batch.output_file_id);
  assert.equal(results.length, lines);
  const events = await eventsOf(second.url);
  const charged = events.filter(({ units }) => units > 0);
  assert.equal(charged.length, lines, 'as many requests are charged as there are lines');
  assert.deepEqual(
    new Set(charged.map((event) => event.id)),
    new Set(results.map(({ response }) => response!.request_id)),
  );
});

async function eventsOf(url: string): Promise<{ id: string; units: number }[]> {
  const headers = { authorization: `Bearer ${adminKey}` };
  const text = await (await fetch(`${url}/admin/v1/requests.jsonl`, { headers })).text();
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: string; units: number });
}

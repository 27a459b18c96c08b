import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import pg from 'pg';
import { testKey } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { temporaryFolder } from '../start-process.ts';
import { startVideos } from '../upstream-formats/start-videos.ts';
import { startGatewayProcess } from './gateway-process.ts';

test('F76 the owner of a video is written before its answer goes out: kill -9 right after it, and the video is found', {
  skip: postgresMissing,
}, async (t) => {
  const [postgres, upstream] = [await startPostgres(t), await startVideos(t)];
  const database = postgres.newDatabase();
  const config = {
    providers: { sora: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'key-a' } },
    models: { film: { type: 'video', targets: [{ provider: 'sora', model: 'sora-2', price: { video_second: 0.1 } }] } },
    storage: { data_dir: temporaryFolder(t), database, secret: 'a secret of thirty-two bytes or more' },
  };
  const first = await startGatewayProcess(t, config);
  const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' };
  // Writes of owners wait for this one.
  const holder = new pg.Client({ connectionString: database });
  await holder.connect();
  await holder.query('BEGIN; LOCK TABLE culvert.provider_object IN SHARE MODE');
  let answered = false;
  const asked = fetch(`${first.url}/v1/videos`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model: 'film', prompt: 'A cat', seconds: '8' }),
  }).then(async (response) => {
    answered = true;
    return { status: response.status, video: (await response.json()) as { id: string } };
  });
  while (upstream.requests.length === 0) await after(20);
  await after(500);
  assert.equal(answered, false, 'no answer goes out before its owner is written');
  await holder.query('COMMIT');
  await holder.end();
  const { status, video } = await asked;
  first.process.kill('SIGKILL');
  await once(first.process, 'exit');
  assert.equal(status, 200, JSON.stringify(video));
  const { url } = await startGatewayProcess(t, config);
  const found = await fetch(`${url}/v1/videos/${video.id}`, { headers });
  assert.equal(found.status, 200, await found.text());
});

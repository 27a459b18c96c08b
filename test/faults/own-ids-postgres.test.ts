import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as after } from 'node:timers/promises';
import pg from 'pg';
import { overUpstreams, testKey } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { serve } from '../tools/bad-web/serve.ts';
import { startGatewayProcess } from './gateway-process.ts';

const authorization = `Bearer ${testKey}`;
const post = (url: string, body: object) =>
  fetch(url, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

test('F76 files, batches, conversations, responses and crawls are written before their ids go out, and outlive kill -9', {
  skip: postgresMissing,
}, async (t) => {
  const [postgres, upstream] = [await startPostgres(t), await startUpstream()];
  t.after(() => upstream.close());
  const site = await serve(t, (response) => void response.end('<p>A page</p>'));
  const database = postgres.newDatabase();
  const config = {
    ...overUpstreams(upstream.url),
    fetch: { allow_private: [site.place] },
    storage: { data_dir: temporaryFolder(t), database, secret: 'a secret of thirty-two bytes or more' },
  };
  const { url, process } = await startGatewayProcess(t, config);
  const holder = new pg.Client({ connectionString: database });
  holder.on('error', () => {});
  await holder.connect();
  t.after(() => holder.end().catch(() => undefined));

  /** The answer to what writes into `table`; nothing that matches `id` may come while it cannot. */
  async function written(table: string, id: RegExp, ask: () => Promise<Response>): Promise<string> {
    await holder.query(`BEGIN; LOCK TABLE culvert.${table} IN SHARE MODE`);
    let text = '';
    const asked = (async () => {
      const response = await ask();
      for await (const piece of response.body!) text += Buffer.from(piece).toString();
      assert.equal(response.ok, true, `${table}: ${text}`);
    })();
    await after(500);
    assert.doesNotMatch(text, id, `${table}: its id went out before it was written`);
    await holder.query('COMMIT');
    await asked;
    const found = id.exec(text);
    assert.ok(found !== null, `${table}: ${text}`);
    return found[1]!;
  }

  const anyId = /"id":\s*"([a-z]+[_-][\w-]+)"/;
  const line = JSON.stringify({
    custom_id: 'a',
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] },
  });
  const form = new FormData();
  form.set('purpose', 'batch');
  form.set('file', new Blob([line]), 'lines.jsonl');
  const upload = () => fetch(`${url}/v1/files`, { method: 'POST', headers: { authorization }, body: form });
  const file = await written('stored_file', anyId, upload);
  const asked = { input_file_id: file, endpoint: '/v1/chat/completions', completion_window: '24h' };
  const batch = await written('batch', anyId, () => post(`${url}/v1/batches`, asked));
  const conversation = await written('conversation', anyId, () => post(`${url}/v1/conversations`, {}));
  const respond = (more: object) => () => post(`${url}/v1/responses`, { model: 'chat', input: 'Hello', ...more });
  const whole = await written('response', anyId, respond({}));
  const streamed = await written(
    'response',
    /response\.completed.*"id":\s*"(resp_[\w-]+)"/s,
    respond({ stream: true }),
  );
  const background = await written('response', anyId, respond({ background: true }));
  const crawl = await written('crawl', anyId, () => post(`${url}/v1/tools/crawl`, { url: `${site.url}/`, limit: 1 }));

  process.kill('SIGKILL');
  await once(process, 'exit');
  const again = await startGatewayProcess(t, config);
  const paths = [
    `files/${file}`,
    `batches/${batch}`,
    `conversations/${conversation}`,
    ...[whole, streamed, background].map((id) => `responses/${id}`),
    `tools/crawl/${crawl}`,
  ];
  for (const path of paths) {
    const found = await fetch(`${again.url}/v1/${path}`, { headers: { authorization } });
    assert.equal(found.status, 200, `${path}: ${await found.text()}`);
  }
});

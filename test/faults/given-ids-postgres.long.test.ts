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
import { startObjectKeeper } from './object-keeper.ts';

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

type Json = Record<string, unknown>;

interface Given {
  path: string;
  asked: Json;
  /** A later request, which only the owner of the ids may make. */
  later(text: string): Json;
  /** How the ids of an answer look. */
  id: RegExp;
}

const hello = [{ role: 'user', content: 'Hello' }];
const idIn = (text: string, pattern: RegExp) => pattern.exec(text)?.[0] ?? 'none';
const answers: Record<string, Given> = {
  'a stored response': {
    path: '/v1/responses',
    asked: { model: 'gpt', input: 'Hello' },
    later: (text) => ({ model: 'gpt', input: 'And?', previous_response_id: idIn(text, /resp_[0-9a-f]{24}/) }),
    id: /resp_[0-9a-f]{24}/,
  },
  'a container of a response that is not stored': {
    path: '/v1/responses',
    asked: {
      model: 'gpt',
      input: 'Hello',
      store: false,
      tools: [{ type: 'code_interpreter', container: { type: 'auto' } }],
    },
    later: (text) => ({
      model: 'gpt',
      input: 'And?',
      store: false,
      tools: [{ type: 'code_interpreter', container: idIn(text, /cntr_[0-9a-f]{24}/) }],
    }),
    id: /cntr_[0-9a-f]{24}/,
  },
  'a container of a message': {
    path: '/v1/messages',
    asked: {
      model: 'claude',
      max_tokens: 9,
      messages: hello,
      tools: [{ type: 'code_execution_20250825', name: 'code_execution' }],
    },
    later: (text) => ({
      model: 'claude',
      max_tokens: 9,
      messages: hello,
      tools: [{ type: 'code_execution_20250825', name: 'code_execution' }],
      container: idIn(text, /container_[0-9a-f]{24}/),
    }),
    id: /container_[0-9a-f]{24}/,
  },
  'spoken audio of a chat': {
    path: '/v1/chat/completions',
    asked: { model: 'gpt', messages: hello, modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } },
    later: (text) => ({
      model: 'gpt',
      messages: [...hello, { role: 'assistant', audio: { id: idIn(text, /audio_[0-9a-f]{24}/) } }, ...hello],
      modalities: ['text', 'audio'],
      audio: { voice: 'alloy', format: 'wav' },
    }),
    id: /audio_[0-9a-f]{24}/,
  },
};

test('F76 ids at providers, in whole answers and in streams, go out when their owner is written, and outlive kill -9', {
  skip: postgresMissing,
}, async (t) => {
  const [postgres, keeper] = [await startPostgres(t), await startObjectKeeper(t)];
  const database = postgres.newDatabase();
  const config = {
    providers: {
      oa: {
        type: 'openai',
        base_url: `${keeper.url}/v1`,
        api_key: 'org-1',
        dialects: ['openai-chat', 'openai-responses'],
      },
      an: { type: 'anthropic', base_url: keeper.url, api_key: 'org-1' },
    },
    models: {
      gpt: { targets: [{ provider: 'oa', model: 'gpt-5' }] },
      claude: { targets: [{ provider: 'an', model: 'claude-sonnet-4-5' }] },
    },
    storage: { data_dir: temporaryFolder(t), database, secret: 'a secret of thirty-two bytes or more' },
  };
  const first = await startGatewayProcess(t, config);
  const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' };
  const ask = (url: string, path: string, body: Json) =>
    fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const holder = new pg.Client({ connectionString: database });
  await holder.connect();
  await holder.query('BEGIN; LOCK TABLE culvert.provider_object IN SHARE MODE');
  const cases = Object.entries(answers).flatMap(([name, given]) =>
    [false, true].map((stream) => ({ name: `${name}, ${stream ? 'streamed' : 'whole'}`, given, stream, text: '' })),
  );
  const all = cases.map(async (one) => {
    const response = await ask(first.url, one.given.path, { ...one.given.asked, ...(one.stream && { stream: true }) });
    assert.equal(response.status, 200, one.name);
    for await (const piece of response.body!) one.text += Buffer.from(piece).toString();
  });
  while (keeper.requests.length < cases.length) await after(20);
  await after(700);
  for (const { name, given, text } of cases) assert.doesNotMatch(text, given.id, `${name}: an id went out too early`);
  await holder.query('COMMIT');
  await holder.end();
  await Promise.all(all);
  first.process.kill('SIGKILL');
  await once(first.process, 'exit');
  const { url } = await startGatewayProcess(t, config);
  for (const { name, given, text } of cases) {
    assert.match(text, given.id, name);
    const found = await ask(url, given.path, given.later(text));
    assert.equal(found.status, 200, `${name}: ${await found.text()}`);
  }
});

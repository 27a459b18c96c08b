import assert from 'node:assert/strict';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { adminKey, overUpstreams, testKey } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { type Lifetime, runCommand, temporaryFolder } from '../start-process.ts';
import { s3Keys, s3Missing, startS3 } from '../start-s3.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { startGatewayProcess } from './gateway-process.ts';

const [old, fresh] = ['o'.repeat(44), 'f'.repeat(44)] as const;
const headers = { authorization: `Bearer ${testKey}` };
const admin = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
/** More than two chunks, and than one step of a pass has time for. */
const fileBytes = 12 * 1024 * 1024;

interface Pass {
  kinds: { kind: string; current: number; earlier: number; lost: number }[];
  next: string | null;
  secret: string;
}

async function send(url: string, path: string, body: object) {
  const form = body instanceof FormData;
  const answer = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { ...headers, ...(!form && { 'content-type': 'application/json' }) },
    body: form ? body : JSON.stringify(body),
  });
  assert.ok(answer.ok, `${path}: ${await answer.clone().text()}`);
  return (await answer.json()) as { id: string; output_file_id?: string; status?: string };
}

async function read(url: string, path: string) {
  const answer = await fetch(`${url}${path}`, { headers });
  const text = await answer.text();
  assert.equal(answer.status, 200, `${path}: ${text.slice(0, 300)}`);
  return text;
}

/** One thing of each kind, as callers see it: by path, its text. */
async function make(url: string): Promise<Record<string, string>> {
  const upload = async (purpose: string, content: string) => {
    const form = new FormData();
    form.set('purpose', purpose);
    form.set('file', new Blob([content]), 'lines.jsonl');
    return (await send(url, '/v1/files', form)).id;
  };
  const large = await upload('user_data', 'x'.repeat(fileBytes));
  const line = {
    custom_id: '1',
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: 'chat', messages: [{ role: 'user', content: 'Hi' }] },
  };
  const input = await upload('batch', JSON.stringify(line));
  const batch = (
    await send(url, '/v1/batches', { input_file_id: input, endpoint: '/v1/chat/completions', completion_window: '24h' })
  ).id;
  await until(
    'the batch has ended',
    async () => JSON.parse(await read(url, `/v1/batches/${batch}`)).status === 'completed',
  );
  const { output_file_id: output } = JSON.parse(await read(url, `/v1/batches/${batch}`)) as { output_file_id: string };
  const conversation = (await send(url, '/v1/conversations', { metadata: { a: 'b' } })).id;
  const response = (await send(url, '/v1/responses', { model: 'chat', input: 'Hi', conversation })).id;
  const store = (await send(url, '/v1/vector_stores', { name: 'Recipes', metadata: { of: 'bread' } })).id;
  const paths = [
    `/v1/files/${large}/content`,
    `/v1/files/${large}`,
    `/v1/batches/${batch}`,
    `/v1/files/${output}/content`,
    `/v1/conversations/${conversation}`,
    `/v1/conversations/${conversation}/items`,
    `/v1/responses/${response}`,
    `/v1/responses/${response}/input_items`,
  ];
  const made: Record<string, string> = {};
  for (const path of paths) made[path] = await read(url, path);
  made[`/v1/vector_stores/${store}`] = '';
  return made;
}

async function isAsBefore(url: string, made: Record<string, string>) {
  for (const [path, text] of Object.entries(made)) {
    const now = await read(url, path);
    if (text !== '') assert.ok(now === text, `${path} is another`);
  }
}

async function step(url: string, from: unknown): Promise<Pass> {
  const body = JSON.stringify({ from });
  const answer = await fetch(`${url}/admin/v1/secret/reseal`, { method: 'POST', headers: admin, body });
  assert.equal(answer.status, 200, await answer.clone().text());
  return (await answer.json()) as Pass;
}

async function culvert(config: string, ...args: string[]) {
  const options = { cwd: dirname(config) };
  const { code, stdout, stderr } = await runCommand(['secret', ...args, '--config', config, '--json'], options);
  return { status: code, stderr, json: JSON.parse(stdout || 'null') };
}

/** Servers over one storage, each in the place of the last one. */
function servers(t: Lifetime, upstream: string, storage: object) {
  let running: Awaited<ReturnType<typeof startGatewayProcess>> | null = null;
  return async (secrets: object, end: 'SIGTERM' | 'SIGKILL' = 'SIGTERM') => {
    if (running !== null) {
      const ended = once(running.process, 'exit');
      running.process.kill(end);
      await ended;
    }
    running = await startGatewayProcess(t, { ...overUpstreams(upstream), storage: { ...storage, ...secrets } });
    return running;
  };
}

test('everything in the data folder is sealed anew, also after a kill, and the earlier secret may go', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const restarted = servers(t, upstream.url, { data_dir: join(temporaryFolder(t), 'data') });
  const first = await restarted({});
  const made = await make(first.url);
  const provider = { name: 'late', type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'sk-upstream' };
  const added = await fetch(`${first.url}/admin/v1/providers`, {
    method: 'POST',
    headers: admin,
    body: JSON.stringify(provider),
  });
  assert.equal(added.status, 201);
  assert.equal((await culvert(first.file, 'status')).json.needed, false);

  const rotated = await fetch(`${first.url}/admin/v1/secret/rotate`, { method: 'POST', headers: admin, body: '{}' });
  assert.equal(rotated.status, 200);
  const before = await culvert(first.file, 'status');
  assert.deepEqual([before.status, before.json.needed], [1, true]);
  await step(first.url, null);

  const second = await restarted({}, 'SIGKILL');
  await isAsBefore(second.url, made);
  const { json, stderr } = await culvert(second.file, 'reseal', '--forget');
  assert.equal(json.earlier, 'forgotten', stderr);
  assert.ok(
    json.kinds.every(({ lost }: { lost: number }) => lost === 0),
    JSON.stringify(json),
  );
  const kinds = json.kinds.map(({ kind }: { kind: string }) => kind);
  for (const kind of ['responses', 'conversations', 'files', 'batches', 'vector stores'])
    assert.ok(kinds.includes(kind), kind);
  await isAsBefore(second.url, made);
  const third = await restarted({});
  await isAsBefore(third.url, made);
  const last = await culvert(third.file, 'status');
  assert.deepEqual([last.status, last.json.needed], [0, false]);
});

test('earlier secrets are not forgotten where another one came since the pass', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const { url } = await servers(t, upstream.url, { data_dir: join(temporaryFolder(t), 'data') })({});
  const { id } = await send(url, '/v1/responses', { model: 'chat', input: 'Hi' });
  const rotate = (body: object) =>
    fetch(`${url}/admin/v1/secret/rotate`, { method: 'POST', headers: admin, body: JSON.stringify(body) });
  await rotate({});
  const { secret } = await step(url, null);
  assert.equal((await step(url, null)).secret, secret);
  await rotate({});
  const refused = await rotate({ renew: false, forget: true, secret });
  assert.deepEqual(
    [refused.status, ((await refused.json()) as { error: { message: string } }).error.message],
    [409, 'The secret was renewed meanwhile: seal everything anew first.'],
  );
  await read(url, `/v1/responses/${id}`);
  const now = (await step(url, null)).secret;
  assert.notEqual(now, secret);
  const forgotten = await rotate({ renew: false, forget: true, secret: now });
  assert.equal(((await forgotten.json()) as { earlier: string }).earlier, 'forgotten');
  await read(url, `/v1/responses/${id}`);
});

/** Begins a file of several requests; the call sends the rest of it, and resolves to the path of its content. */
async function beginUpload(url: string) {
  const post = (path: string, body: string, upload: Record<string, string>) => {
    const wanted = Object.entries(upload).map(([name, value]) => [`x-goog-upload-${name}`, value]);
    const sent = { ...headers, 'content-type': 'application/json', ...Object.fromEntries(wanted) };
    return fetch(`${url}${path}`, { method: 'POST', headers: sent, body });
  };
  const begun = await post('/upload/v1beta/files', '{"file":{}}', { protocol: 'resumable', command: 'start' });
  const { pathname, search } = new URL(begun.headers.get('x-goog-upload-url')!);
  const first = 'a'.repeat(2 ** 20);
  assert.equal((await post(pathname + search, first, { command: 'upload', offset: '0' })).status, 200);
  return async (at: string) => {
    const ended = await fetch(`${at}${pathname}${search}`, {
      method: 'POST',
      headers: { ...headers, 'x-goog-upload-command': 'upload, finalize', 'x-goog-upload-offset': `${first.length}` },
      body: 'the end',
    });
    const { file } = (await ended.json()) as { file: { name: string } };
    return `/v1/files/${file.name.replace('files/', 'file-')}/content`;
  };
}

test('a configured secret is replaced over PostgreSQL and a bucket while requests go on', {
  skip: postgresMissing || s3Missing,
}, async (t) => {
  const [postgres, bucket, upstream] = await Promise.all([startPostgres(t), startS3(t, 'pics'), startUpstream()]);
  t.after(() => upstream.close());
  const restarted = servers(t, upstream.url, {
    database: postgres.newDatabase(),
    data_dir: join(temporaryFolder(t), 'data'),
    files: 's3://pics/culvert',
    s3: { endpoint: bucket.url, ...s3Keys },
  });
  const first = await restarted({ secret: old });
  const made = await make(first.url);
  const endUpload = await beginUpload(first.url);
  const second = await restarted({ secret: fresh, earlier_secrets: [old] });
  const looked = await culvert(second.file, 'status');
  assert.deepEqual([looked.status, looked.json.needed], [1, true]);
  const { kinds } = looked.json as Pass;
  assert.ok(kinds.find(({ kind }) => kind === 'files')!.earlier >= fileBytes / 2 ** 20, JSON.stringify(kinds));

  // Requests go on while a command seals.
  let goesOn = true;
  let served = 0;
  const reader = (async () => {
    while (goesOn) {
      await isAsBefore(second.url, made);
      served += 1;
      // Reading without a break would take a core from the pass.
      await pause(250);
    }
  })();
  for (let next: string | null = null; ; ) {
    const done = await step(second.url, next);
    next = done.next;
    if (next === null) break;
  }
  goesOn = false;
  await reader;
  assert.ok(served > 0);
  // Values that are no keys of a part begin it anew: of items, chunks and lines of batches.
  for (const place of [
    [4, ['a', 'b', 'c']],
    [6, ['a', 'x']],
    [8, ['a', 2 ** 40]],
  ] as const)
    await step(second.url, { part: place[0], behind: place[1] });
  // Objects of a file that still comes stay as they are, and count.
  assert.equal((await culvert(second.file, 'reseal')).json.needed, true);
  const uploaded = await endUpload(second.url);
  assert.equal((await culvert(second.file, 'reseal')).json.needed, false);
  const third = await restarted({ secret: fresh });
  assert.match(await read(third.url, uploaded), /^a{1048576}the end$/);
  await isAsBefore(third.url, made);
});

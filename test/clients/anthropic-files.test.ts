import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import Anthropic, { toFile } from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { otherKey, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/* Anthropic's Files API over the gateway's own files. */

const t = { after: after as TestContext['after'] };
const upstream = await startUpstream();
t.after(() => upstream.close());
const gateway = await startGateway(t, {
  providers: { chat: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  models: { chat: { targets: ['chat/mock/ok'] } },
});
const anthropic = new Anthropic({ baseURL: gateway.url, apiKey: testKey, maxRetries: 0 });
const stranger = new Anthropic({ baseURL: gateway.url, apiKey: otherKey, maxRetries: 0 });
const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey, maxRetries: 0 });

const upload = async (name: string, text: string, type?: string) =>
  anthropic.beta.files.upload({
    file: await toFile(Buffer.from(text), name, type === undefined ? {} : { type }),
    betas: ['files-api-2025-04-14'],
  });

test('a file is uploaded, found, read and deleted by the official SDK', async () => {
  const file = await upload('pandas.csv', 'name,legs\npanda,4', 'text/csv');
  const { id, created_at, expires_at, ...facts } = file;
  assert.deepEqual(facts, {
    type: 'file',
    filename: 'pandas.csv',
    mime_type: 'text/csv',
    size_bytes: 17,
    downloadable: true,
  });
  assert.ok(Date.parse(expires_at!) > Date.parse(created_at));
  assert.deepEqual(await anthropic.beta.files.retrieveMetadata(id), file);
  assert.equal(await (await anthropic.beta.files.download(id)).text(), 'name,legs\npanda,4');
  assert.deepEqual(await anthropic.beta.files.delete(id), { id, type: 'file_deleted' });
  await assert.rejects(anthropic.beta.files.retrieveMetadata(id), { status: 404, type: 'not_found_error' });
});

test('the type of a file that came without one is that of its name', async () => {
  for (const [name, type] of [
    ['a.PDF', 'application/pdf'],
    ['b.md', 'text/markdown'],
    ['c', 'application/octet-stream'],
  ] as const) {
    assert.equal((await upload(name, 'x')).mime_type, type);
  }
});

test('files are listed by pages, in both ways that SDKs go on, and by ids', async () => {
  for (const { id } of (await anthropic.beta.files.list({ limit: 1_000 })).data) await anthropic.beta.files.delete(id);
  const ids: string[] = [];
  for (const name of ['a', 'b', 'c', 'd', 'e']) ids.push((await upload(`${name}.txt`, name)).id);
  const newest = ids.toReversed();
  const found: string[] = [];
  for await (const { id } of anthropic.beta.files.list({ limit: 2 })) found.push(id);
  assert.deepEqual(found, newest);
  const pageOf = async (query: string) => {
    const response = await gateway.fetch(`/v1/files?${query}`, { headers: { 'anthropic-version': '2023-06-01' } });
    return (await response.json()) as { data: { id: string }[]; has_more: boolean; first_id: string; last_id: string };
  };
  const second = await pageOf(`limit=2&after_id=${newest[1]}`);
  assert.deepEqual(
    second.data.map(({ id }) => id),
    newest.slice(2, 4),
  );
  assert.deepEqual([second.has_more, second.first_id, second.last_id], [true, newest[2], newest[3]]);
  const first = await pageOf(`limit=2&before_id=${newest[2]}`);
  assert.deepEqual(
    first.data.map(({ id }) => id),
    newest.slice(0, 2),
  );
  const some = await anthropic.beta.files.list({ ids: [ids[1]!, ids[3]!, 'file_gone'] });
  assert.deepEqual(
    some.data.map(({ id }) => id),
    [ids[1], ids[3]],
  );
  assert.equal(some.hasNextPage(), false);
  assert.equal(
    (await gateway.fetch('/v1/files?limit=0', { headers: { 'anthropic-version': '2023-06-01' } })).status,
    400,
  );
});

test('a file of either API is the other one too, and a message over any provider gets its content', async () => {
  const { id } = await upload('pandas.txt', 'Red pandas eat bamboo.', 'text/plain');
  const { filename, purpose } = await openai.files.retrieve(id);
  assert.deepEqual([filename, purpose], ['pandas.txt', 'user_data']);
  const other = await openai.files.create({ file: await toFile(Buffer.from('# Bears'), 'b.md'), purpose: 'user_data' });
  assert.equal((await anthropic.beta.files.retrieveMetadata(other.id)).type, 'file');
  upstream.clear();
  await anthropic.beta.messages.create({
    model: 'chat',
    max_tokens: 9,
    betas: ['files-api-2025-04-14'],
    messages: [
      {
        role: 'user',
        content: [id, other.id].map((file_id) => ({ type: 'document', source: { type: 'file', file_id } })),
      },
    ],
  });
  const sent = JSON.stringify(upstream.requests().at(-1)!.body);
  for (const text of ['Red pandas eat bamboo.', '# Bears']) {
    assert.ok(sent.includes(text) || sent.includes(Buffer.from(text).toString('base64')), text);
  }
});

test('a file expires when its owner says, and not before an hour', async () => {
  const file = await toFile(Buffer.from('x'), 'x.txt');
  const kept = await anthropic.beta.files.upload({ file, expires_in_seconds: 7_776_000 });
  assert.equal(Date.parse(kept.expires_at!) - Date.parse(kept.created_at), 7_776_000_000);
  await assert.rejects(anthropic.beta.files.upload({ file, expires_in_seconds: 60 }), (error: unknown) => {
    assert.ok(error instanceof Anthropic.BadRequestError);
    assert.equal(error.type, 'invalid_request_error');
    assert.match(error.message, /expires_in_seconds/);
    return true;
  });
});

test('another key neither sees nor deletes a file; a wrong key and a form without a file get errors of Anthropic', async () => {
  const { id } = await upload('mine.txt', 'mine');
  for (const call of ['retrieveMetadata', 'download', 'delete'] as const) {
    await assert.rejects(stranger.beta.files[call](id), { status: 404, type: 'not_found_error' });
  }
  assert.deepEqual((await stranger.beta.files.list({ ids: [id] })).data, []);
  const nobody = new Anthropic({ baseURL: gateway.url, apiKey: 'sk-cv-wrong', maxRetries: 0 });
  await assert.rejects(nobody.beta.files.list(), { status: 401, type: 'authentication_error' });
  const body = new FormData();
  body.append('purpose', 'batch');
  const headers = { 'anthropic-version': '2023-06-01' };
  const response = await gateway.fetch('/v1/files', { method: 'POST', body, headers });
  const answer = (await response.json()) as { type: string; error: { type: string; message: string } };
  assert.deepEqual([response.status, answer.type, answer.error.type], [400, 'error', 'invalid_request_error']);
  assert.match(answer.error.message, /'file'/);
});

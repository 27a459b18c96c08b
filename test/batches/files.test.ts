import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { toFile } from 'openai';
import { otherKey, startGateway, testKey } from '../start-gateway.ts';
import { s3Keys, s3Missing, startS3 } from '../start-s3.ts';
import { startUpstream } from '../start-upstream.ts';
import { batchWhen, beginBatch, chatLine, hasEnded, openAi, resultsIn } from './world.ts';

test('a file is uploaded, listed, read and deleted by the official SDK', async (t) => {
  const { url } = await startGateway(t);
  const client = openAi(url, testKey);
  // Longer than a chunk, and not of whole ones.
  const content = randomBytes(2_500_000);
  const file = await client.files.create({ file: await toFile(content, 'notes.bin'), purpose: 'user_data' });
  assert.deepEqual(
    { object: file.object, bytes: file.bytes, filename: file.filename, purpose: file.purpose, status: file.status },
    { object: 'file', bytes: content.length, filename: 'notes.bin', purpose: 'user_data', status: 'processed' },
  );
  assert.deepEqual(await client.files.retrieve(file.id), file);
  const read = Buffer.from(await (await client.files.content(file.id)).arrayBuffer());
  assert.ok(read.equals(content));
  for (const bytes of [1, 2 ** 20, 2 ** 20 + 1]) {
    const whole = randomBytes(bytes);
    const { id } = await client.files.create({ file: await toFile(whole, 'whole.bin'), purpose: 'user_data' });
    const back = Buffer.from(await (await client.files.content(id)).arrayBuffer());
    assert.ok(back.equals(whole), `${back.length} of ${bytes} bytes`);
  }
  assert.deepEqual(await client.files.delete(file.id), { id: file.id, object: 'file', deleted: true });
  await assert.rejects(client.files.retrieve(file.id), { status: 404 });
});

test('a file is downloaded under its name, whatever characters that has', async (t) => {
  const { url, fetch } = await startGateway(t);
  const client = openAi(url, testKey);
  for (const [name, downloaded, fallback] of [
    ['notes.txt', 'notes.txt', 'notes.txt'],
    ['a "b" c;d.txt', 'a "b" c;d.txt', 'a "b" c;d.txt'],
    ['Müller – 你好 👋.pdf', 'Müller – 你好 👋.pdf', null],
    ['100%41.txt', '100%41.txt', null],
    ['x\r\nset-cookie: a=b.txt', 'xset-cookie: a=b.txt', 'xset-cookie: a=b.txt'],
    ['../../etc/passwd', '.._.._etc_passwd', '.._.._etc_passwd'],
    ['C:\\temp\\a.txt', 'C:_temp_a.txt', 'C:_temp_a.txt'],
    ['\u202egpj.exe', 'gpj.exe', 'gpj.exe'],
    ['..', 'file', 'file'],
    ['名'.repeat(512), '名'.repeat(512), null],
  ] as const) {
    const begun = await client.uploads.create({
      ...{ bytes: 2, filename: name, mime_type: 'text/plain', purpose: 'user_data' },
    });
    const part = await client.uploads.parts.create(begun.id, { data: await toFile(Buffer.from('hi'), 'x') });
    const { file } = await client.uploads.complete(begun.id, { part_ids: [part.id] });
    const answer = await fetch(`/v1/files/${file!.id}/content`);
    assert.equal(await answer.text(), 'hi');
    assert.equal(answer.headers.get('set-cookie'), null);
    const header = answer.headers.get('content-disposition') ?? '';
    const [, quoted = '', encoded] =
      /^attachment; filename="((?:[^"\\]|\\.)*)"(?:; filename\*=UTF-8''([!#$&+.^_`|~%\w-]+))?$/.exec(header) ?? [];
    // What clients read that know no other characters.
    const plain = quoted.replace(/\\(.)/g, '$1');
    assert.match(plain, /^[ -~]+$/);
    assert.equal(encoded === undefined ? plain : decodeURIComponent(encoded), downloaded, header);
    if (fallback !== null) assert.equal(plain, fallback);
  }
});

test('files are listed by pages, newest first, and by purpose', async (t) => {
  const { url } = await startGateway(t);
  const client = openAi(url, testKey);
  const ids: string[] = [];
  for (const purpose of ['batch', 'user_data', 'assistants', 'vision', 'user_data'] as const) {
    const { id } = await client.files.create({ file: await toFile(Buffer.from(purpose), 'x'), purpose });
    ids.push(id);
  }
  const found: string[] = [];
  for await (const { id } of client.files.list({ limit: 2 })) found.push(id);
  assert.deepEqual(found, ids.toReversed());
  const oldest = await client.files.list({ purpose: 'user_data', order: 'asc' });
  assert.deepEqual(
    oldest.data.map(({ id }) => id),
    [ids[1], ids[4]],
  );
});

test('files of one key do not exist for another, and the disk does not tell them', async (t) => {
  const { url, dataDir } = await startGateway(t);
  const client = openAi(url, testKey);
  const secret = 'the-words-of-a-caller';
  const { id } = await client.files.create({
    file: await toFile(Buffer.from(secret), `${secret}.txt`),
    purpose: 'batch',
  });
  const stranger = openAi(url, otherKey);
  await assert.rejects(stranger.files.retrieve(id), { status: 404 });
  await assert.rejects(stranger.files.content(id), { status: 404 });
  await assert.rejects(stranger.files.delete(id), { status: 404 });
  assert.deepEqual((await stranger.files.list()).data, []);
  const asked = { input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const;
  await assert.rejects(stranger.batches.create(asked), { status: 400, param: 'input_file_id' });
  for (const name of ['batches.db', 'batches.db-wal']) {
    assert.equal(readFileSync(join(dataDir, name)).includes(secret), false);
  }
});

test('a wrong upload names its field', async (t) => {
  const { fetch } = await startGateway(t);
  const post = async (fields: Record<string, string | Blob>) => {
    const body = new FormData();
    for (const [name, value] of Object.entries(fields)) body.append(name, value);
    const response = await fetch('/v1/files', { method: 'POST', body });
    return { status: response.status, ...((await response.json()) as { error: { param: string } }) };
  };
  const file = new Blob(['x']);
  for (const [fields, param] of [
    [{ purpose: 'batch' }, 'file'],
    [{ file }, 'purpose'],
    [{ file, purpose: 'fun' }, 'purpose'],
    [{ file, purpose: 'batch', 'expires_after[seconds]': '5000' }, 'expires_after.anchor'],
    [
      { file, purpose: 'batch', 'expires_after[anchor]': 'created_at', 'expires_after[seconds]': '1' },
      'expires_after.seconds',
    ],
  ] as const) {
    const answer = await post(fields as Record<string, string>);
    assert.equal(answer.status, 400);
    assert.equal(answer.error.param, param);
  }
  const json = await fetch('/v1/files', { json: { purpose: 'batch' } });
  assert.equal(json.status, 415);
});

test('files count as storage, and an account that keeps too much is refused', async (t) => {
  const plans = { default: { windows: 'off', rpm: 'off', storage: '1mb' } };
  const { url, fetch } = await startGateway(t, { plans });
  const client = openAi(url, testKey);
  await client.files.create({ file: await toFile(randomBytes(1_000_000), 'x'), purpose: 'user_data' });
  const usage = (await (await fetch('/v1/usage')).json()) as { storage: { files: number } };
  assert.equal(usage.storage.files, 1_000_000);
  const refused = client.files.create({ file: await toFile(randomBytes(100_000), 'x'), purpose: 'user_data' });
  await assert.rejects(refused, { status: 429 });
});

test('a file that a batch still reads is not deleted', async (t) => {
  const { url } = await startGateway(t, { models: { chat: { targets: ['gone/model'] } }, providers: gone });
  const client = openAi(url, testKey);
  const { id, input_file_id } = await beginBatch(client, [chatLine('one')]);
  await assert.rejects(client.files.delete(input_file_id), { status: 409 });
  await client.batches.cancel(id);
});

/** Its port is closed: lines wait. */
const gone = { gone: { type: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key: 'k' } };

test('where a bucket is configured the contents lie there, sealed, and go with their file', {
  skip: s3Missing,
}, async (t) => {
  const s3 = await startS3(t, 'pics');
  const { url } = await startGateway(t, {
    storage: {
      files: 's3://pics/a',
      s3: { endpoint: s3.url, ...s3Keys },
      secret: 'a secret of thirty-two bytes or more',
    },
    providers: { chat: { type: 'openai', base_url: `${(await upstreamFor(t)).url}/v1`, api_key: 'k' } },
    models: { chat: { targets: ['chat/mock/ok'] } },
  });
  const client = openAi(url, testKey);
  const content = Buffer.from('the words of a caller. '.repeat(100_000));
  const { id } = await client.files.create({ file: await toFile(content, 'x'), purpose: 'user_data' });
  const keys = s3.keys('pics');
  assert.equal(keys.length, 3);
  assert.ok(keys.every((key) => /^a\/uploads\/\w+\.part$/.test(key)));
  assert.doesNotMatch(s3.text('pics', keys[0]!), /the words/);
  assert.ok(Buffer.from(await (await client.files.content(id)).arrayBuffer()).equals(content));
  await client.files.delete(id);
  assert.deepEqual(s3.keys('pics'), []);
  const batch = await beginBatch(client, [chatLine('one')]);
  const { output_file_id } = await batchWhen(client, batch.id, hasEnded);
  assert.equal((await resultsIn(client, output_file_id)).length, 1);
});

async function upstreamFor(t: TestContext) {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  return upstream;
}

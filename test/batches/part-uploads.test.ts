import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type OpenAI from 'openai';
import { toFile } from 'openai';
import { otherKey, startGateway, testKey, workersKnow } from '../start-gateway.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { temporaryFolder } from '../start-process.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { s3Keys, s3Missing, startS3 } from '../start-s3.ts';
import { openAi } from './world.ts';

/* `/v1/uploads` by the official SDK. */

const md5Of = (content: Uint8Array) => createHash('md5').update(content).digest('hex');

function begin(client: OpenAI, bytes: number, more: Partial<OpenAI.UploadCreateParams> = {}) {
  return client.uploads.create({ bytes, filename: 'a.txt', mime_type: 'text/plain', purpose: 'user_data', ...more });
}

async function add(client: OpenAI, upload: string, content: Uint8Array): Promise<string> {
  return (await client.uploads.parts.create(upload, { data: await toFile(content, 'blob') })).id;
}

async function contentOf(client: OpenAI, id: string): Promise<Buffer> {
  return Buffer.from(await (await client.files.content(id)).arrayBuffer());
}

/** Parts in another order than they came, longer than a chunk; the file is like any other, and the parts are gone. */
async function uploadInParts(client: OpenAI): Promise<void> {
  const pieces = [randomBytes(1_500_000), randomBytes(3), randomBytes(1_100_000)];
  const content = Buffer.concat(pieces);
  const begun = await begin(client, content.length, { expires_after: { anchor: 'created_at', seconds: 7_200 } });
  assert.equal(begun.expires_at - begun.created_at, 3_600);
  const { id, created_at, expires_at, ...facts } = begun;
  const shown = { object: 'upload', bytes: content.length, filename: 'a.txt', purpose: 'user_data' };
  assert.deepEqual(facts, { ...shown, status: 'pending', file: null });
  const [last, first, middle] = [
    await add(client, id, pieces[2]!),
    await add(client, id, pieces[0]!),
    await add(client, id, pieces[1]!),
  ];
  const order = { part_ids: [first!, middle!, last!], md5: md5Of(content) };
  const done = await client.uploads.complete(id, order);
  assert.equal(done.status, 'completed');
  const file = done.file!;
  assert.deepEqual([file.bytes, file.filename, file.purpose], [content.length, 'a.txt', 'user_data']);
  assert.equal(file.expires_at! - file.created_at, 7_200);
  assert.deepEqual(await client.files.retrieve(file.id), file);
  assert.ok((await contentOf(client, file.id)).equals(content));
  assert.deepEqual(
    (await client.files.list()).data.map((one) => one.id),
    [file.id],
  );
  // An answer that was lost on its way is given again.
  assert.deepEqual(await client.uploads.complete(id, order), done);
  await assert.rejects(add(client, id, Buffer.from('more')), { status: 400, message: /is completed/ });
  await assert.rejects(client.uploads.cancel(id), { status: 400, message: /is completed/ });
  await client.files.delete(file.id);
}

interface Usage {
  storage: { files?: number };
}

async function storedBy(fetch: (path: string) => Promise<Response>): Promise<number> {
  await workersKnow();
  return ((await (await fetch('/v1/usage')).json()) as Usage).storage.files ?? 0;
}

test('an upload in parts becomes a file, over the embedded storage', async (t) => {
  const { url, fetch } = await startGateway(t);
  await uploadInParts(openAi(url, testKey));
  assert.equal(await storedBy(fetch), 0);
});

test('an upload in parts becomes a file, over a bucket, where nothing of the parts stays', {
  skip: s3Missing,
}, async (t) => {
  const s3 = await startS3(t, 'pics');
  const { url } = await startGateway(t, {
    storage: {
      files: 's3://pics/a',
      s3: { endpoint: s3.url, ...s3Keys },
      secret: 'a secret of thirty-two bytes or more',
    },
  });
  await uploadInParts(openAi(url, testKey));
  assert.deepEqual(s3.keys('pics'), []);
});

test('an upload in parts becomes a file, over PostgreSQL', { skip: postgresMissing }, async (t) => {
  const { url: database } = await startPostgres(t);
  const storage = { database, secret: 'a secret of thirty-two bytes or more' };
  await uploadInParts(openAi((await startGateway(t, { storage })).url, testKey));
});

test('two replicas that complete one upload at once make one file', {
  skip: postgresMissing || redisMissing,
}, async (t) => {
  const [{ url: database }, { url: state }] = await Promise.all([startPostgres(t), startRedis(t)]);
  const storage = { database, state, secret: 'a secret of thirty-two bytes or more' };
  const [first, second] = [await startGateway(t, { storage }), await startGateway(t, { storage })];
  const clients = [openAi(first.url, testKey), openAi(second.url, testKey)] as const;
  const content = randomBytes(3_000_000);
  const rounds = 3;
  for (let round = 0; round < rounds; round++) {
    const { id } = await begin(clients[0], content.length);
    const part_ids = [
      await add(clients[0], id, content.subarray(0, 1_500_000)),
      await add(clients[1], id, content.subarray(1_500_000)),
    ];
    const ends = await Promise.allSettled(clients.map((client) => client.uploads.complete(id, { part_ids })));
    const made = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value.file!.id] : []));
    assert.equal(new Set(made).size, 1, JSON.stringify(ends));
    for (const end of ends) if (end.status === 'rejected') assert.equal(end.reason.status, 409, String(end.reason));
    assert.ok((await contentOf(clients[1], made[0]!)).equals(content));
    // Later both know it, and neither cancels it.
    for (const client of clients) {
      assert.equal((await client.uploads.complete(id, { part_ids })).file!.id, made[0]);
      await assert.rejects(client.uploads.cancel(id), { status: 400, message: /is completed/ });
    }
  }
  assert.equal((await clients[0].files.list()).data.length, rounds);
});

test('a completion that a crash cut short is finished by the next one', async (t) => {
  const { url, dataDir } = await startGateway(t);
  const client = openAi(url, testKey);
  const { id } = await begin(client, 3);
  const part_ids = [await add(client, id, Buffer.from('abc'))];
  const database = new DatabaseSync(join(dataDir, 'batches.db'), { timeout: 10_000 });
  t.after(() => database.close());
  const partRow = () =>
    database.prepare('SELECT * FROM stored_file WHERE id = ?').get(part_ids[0]!.replace('part_', 'file-'));
  const part = partRow()!;
  const { file } = await client.uploads.complete(id, { part_ids });
  // As after a crash between the upload's end and the file's, and before the parts were deleted.
  database.prepare('UPDATE stored_file SET complete = 0 WHERE id = ?').run(file!.id);
  const values = Object.values(part);
  const marks = values.map(() => '?').join();
  database.prepare(`INSERT INTO stored_file (${Object.keys(part).join()}) VALUES (${marks})`).run(...values);
  await assert.rejects(client.files.retrieve(file!.id), { status: 404 });
  assert.equal((await client.uploads.complete(id, { part_ids })).file!.id, file!.id);
  assert.equal(String(await contentOf(client, file!.id)), 'abc');
  assert.equal(partRow(), undefined);
});

test('what does not match is refused, names its field, and loses no part', async (t) => {
  const { url } = await startGateway(t);
  const client = openAi(url, testKey);
  const { id } = await begin(client, 6);
  const other = await begin(client, 3);
  const [a, b] = [await add(client, id, Buffer.from('abc')), await add(client, id, Buffer.from('def'))];
  const elsewhere = await add(client, other.id, Buffer.from('xyz'));
  const refused = async (body: object, param: string) =>
    assert.rejects(client.uploads.complete(id, body as OpenAI.UploadCompleteParams), { status: 400, param });
  await refused({ part_ids: [a] }, 'part_ids');
  await refused({ part_ids: [a, a] }, 'part_ids.1');
  await refused({ part_ids: [a, elsewhere] }, 'part_ids.1');
  await refused({ part_ids: [a, 'part_none'] }, 'part_ids.1');
  await refused({ part_ids: [a, 7] }, 'part_ids.1');
  await refused({ part_ids: [] }, 'part_ids');
  await refused({}, 'part_ids');
  await refused({ part_ids: [a, b], md5: 'zz' }, 'md5');
  await refused({ part_ids: [b, a], md5: md5Of(Buffer.from('abcdef')) }, 'md5');
  assert.deepEqual((await client.files.list()).data, []);
  const both = { part_ids: [a, b], md5: md5Of(Buffer.from('abcdef')).toUpperCase() };
  const { file } = await client.uploads.complete(id, both);
  assert.equal(String(await contentOf(client, file!.id)), 'abcdef');
});

test('wrong facts of an upload, and a part without its file, name the field', async (t) => {
  const { url, fetch } = await startGateway(t);
  const client = openAi(url, testKey);
  for (const [wrong, param] of [
    [{ bytes: 0 }, 'bytes'],
    [{ bytes: 1.5 }, 'bytes'],
    [{ bytes: 8 * 1024 ** 3 }, 'bytes'],
    [{ bytes: '5' }, 'bytes'],
    [{ filename: '' }, 'filename'],
    [{ filename: 5 }, 'filename'],
    [{ mime_type: null }, 'mime_type'],
    [{ purpose: 'batch_output' }, 'purpose'],
    [{ expires_after: 'soon' }, 'expires_after'],
    [{ expires_after: { anchor: 'created_at', seconds: 1 } }, 'expires_after.seconds'],
  ] as const) {
    await assert.rejects(begin(client, 5, wrong as object), { status: 400, param }, JSON.stringify(wrong));
  }
  const { id } = await begin(client, 5);
  const form = new FormData();
  form.append('data', 'no file');
  const response = await fetch(`/v1/uploads/${id}/parts`, { method: 'POST', body: form });
  assert.equal(response.status, 400);
  assert.equal(((await response.json()) as { error: { param: string } }).error.param, 'data');
  const large = new FormData();
  large.append('data', new Blob([Buffer.alloc(64 * 1024 * 1024 + 1)]), 'blob');
  assert.equal((await fetch(`/v1/uploads/${id}/parts`, { method: 'POST', body: large })).status, 413);
});

test('uploads and parts of one key do not exist for another, nor among the files', async (t) => {
  const { url, fetch } = await startGateway(t);
  const [client, stranger] = [openAi(url, testKey), openAi(url, otherKey)];
  const { id } = await begin(client, 3);
  const part = await add(client, id, Buffer.from('abc'));
  const gone = { status: 404 };
  await assert.rejects(add(stranger, id, Buffer.from('abc')), gone);
  await assert.rejects(stranger.uploads.complete(id, { part_ids: [part] }), gone);
  await assert.rejects(stranger.uploads.cancel(id), gone);
  const own = await begin(stranger, 3);
  await assert.rejects(stranger.uploads.complete(own.id, { part_ids: [part] }), { status: 400, param: 'part_ids.0' });
  for (const name of [part.replace('part_', 'file-'), id.replace('upload_', 'file-')]) {
    await assert.rejects(client.files.retrieve(name), gone);
    await assert.rejects(client.files.delete(name), gone);
  }
  await assert.rejects(client.uploads.cancel('upload_none'), gone);
  assert.equal((await client.uploads.cancel(id)).status, 'cancelled');
  assert.equal((await client.uploads.cancel(id)).status, 'cancelled');
  await assert.rejects(client.uploads.complete(id, { part_ids: [part] }), { status: 400, message: /is cancelled/ });
  assert.equal(await storedBy(fetch), 0);
});

test('parts count as storage as they come, and one beyond the plan is refused', async (t) => {
  const { url, fetch } = await startGateway(t, {
    plans: { default: { windows: 'off', rpm: 'off', storage: '1mb' } },
  });
  const client = openAi(url, testKey);
  const { id } = await begin(client, 1_000_000);
  await add(client, id, randomBytes(900_000));
  assert.equal(await storedBy(fetch), 900_000);
  await assert.rejects(add(client, id, randomBytes(400_000)), { status: 429 });
  assert.equal(await storedBy(fetch), 900_000);
});

test('an hour after its begin an upload takes nothing any more; two completions at once make one file', async (t) => {
  const { url, dataDir } = await startGateway(t);
  const client = openAi(url, testKey);
  const { id } = await begin(client, 3);
  const part = await add(client, id, Buffer.from('abc'));
  const twice = await begin(client, 3);
  const one = { part_ids: [await add(client, twice.id, Buffer.from('abc'))] };
  const ends = await Promise.allSettled([
    client.uploads.complete(twice.id, one),
    client.uploads.complete(twice.id, one),
  ]);
  assert.ok(ends.some(({ status }) => status === 'fulfilled'));
  assert.equal((await client.files.list()).data.length, 1);
  const database = new DatabaseSync(join(dataDir, 'batches.db'), { timeout: 10_000 });
  database.exec('UPDATE stored_file SET created_ms = created_ms - 3700000, expires_ms = expires_ms - 3700000');
  database.close();
  const expired = { status: 400, message: /is expired/ };
  await assert.rejects(add(client, id, Buffer.from('abc')), expired);
  await assert.rejects(client.uploads.complete(id, { part_ids: [part] }), expired);
  await assert.rejects(client.uploads.cancel(id), expired);
});

test('parts outlive a restart', async (t) => {
  const storage = { data_dir: temporaryFolder(t) };
  const before = await startGateway(t, { storage });
  const { id } = await begin(openAi(before.url, testKey), 6);
  const first = await add(openAi(before.url, testKey), id, Buffer.from('abc'));
  await before.close(0);
  const client = openAi((await startGateway(t, { storage })).url, testKey);
  const second = await add(client, id, Buffer.from('def'));
  const { file } = await client.uploads.complete(id, { part_ids: [first, second] });
  assert.equal(String(await contentOf(client, file!.id)), 'abcdef');
});

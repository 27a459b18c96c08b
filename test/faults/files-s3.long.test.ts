import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { DoctorReply } from '../../src/admin/doctor.ts';
import { fileName } from '../../src/kernel/file-store.ts';
import { createLog } from '../../src/observe/log.ts';
import { createS3Files } from '../../src/stores/files/s3-files.ts';
import { createBucket } from '../../src/stores/s3/bucket.ts';
import { type Drawn, imagesPath, inBase64, png, startDrawing } from '../contract/image-world.ts';
import type { ErrorBody } from '../contract/served.ts';
import { listening, startForwardProxy } from '../forward-proxy.ts';
import { assertWithin } from '../machine-load.ts';
import { adminKey, startGateway, type TestGateway } from '../start-gateway.ts';
import { s3Keys, s3Missing, startS3 } from '../start-s3.ts';

const secret = 'a secret of thirty-two bytes or more';

/** A gateway that draws, with its pictures in a bucket, and what its log says of the bucket. */
async function drawing(
  t: TestContext,
  s3: object,
  { files = 's3://pics/a/b', env = {} }: { files?: string; env?: Record<string, string> } = {},
) {
  const upstream = await startDrawing(inBase64);
  t.after(() => upstream.close());
  const { log } = await createLog({ level: 'error', form: 'json' });
  const said: string[] = [];
  /** Of requests and others the facts come first. */
  const note = (words: unknown) => typeof words === 'string' && said.push(words);
  const gateway = await startGateway(
    t,
    {
      storage: { files, s3, secret },
      providers: { one: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'x' } },
      models: { pic: { type: 'image', targets: ['one/pic-1'] } },
      simulator: 'off',
    },
    {
      env,
      log: Object.assign(Object.create(log) as typeof log, { error: note, info: note }),
    },
  );
  await gateway.modelsKnown;
  return { gateway, said };
}

const ask = (gateway: TestGateway, json: object = {}) =>
  gateway.fetch(imagesPath, { json: { model: 'pic', prompt: 'x', ...json } });

async function linkOf(gateway: TestGateway): Promise<URL> {
  const answer = await ask(gateway);
  assert.equal(answer.status, 200);
  return new URL(((await answer.json()) as Drawn).data[0]!.url!);
}

/** The link in the form for another replica. */
const at = (gateway: TestGateway, { pathname, search }: URL) => fetch(gateway.url + pathname + search);

async function refusal(answer: Response): Promise<string> {
  const { error } = (await answer.json()) as ErrorBody;
  assert.deepEqual([answer.status, error.type], [503, 'overloaded_error'], error.message);
  return error.message;
}

test('a picture that one replica kept in the bucket opens at another, by path and by host', {
  skip: s3Missing,
}, async (t) => {
  const storage = await startS3(t, 'pics');
  const one = await drawing(t, { endpoint: storage.url, ...s3Keys });
  // The bucket is a part of the host name: a proxy leads there, for no name server knows it.
  const proxy = await startForwardProxy(t, storage.port);
  const other = await drawing(
    t,
    { endpoint: 'http://s3.test', path_style: false },
    {
      env: {
        HTTP_PROXY: proxy.url,
        AWS_ACCESS_KEY_ID: s3Keys.access_key_id,
        AWS_SECRET_ACCESS_KEY: s3Keys.secret_access_key,
      },
    },
  );
  for (const [drawer, opener] of [
    [one, other],
    [other, one],
  ] as const) {
    const link = await linkOf(drawer.gateway);
    const name = link.pathname.split('/').at(-1)!;
    assert.ok(storage.keys('pics').includes(`a/b/${name}`));
    const opened = await at(opener.gateway, link);
    assert.deepEqual([opened.status, opened.headers.get('content-type')], [200, 'image/png']);
    assert.deepEqual(Buffer.from(await opened.arrayBuffer()), png(0));
  }
  assert.match(proxy.orders[0]!, /pics\.s3\.test/);
  const link = await linkOf(one.gateway);
  link.pathname = link.pathname.replace(/[^/]{8}\.png$/, 'AAAAAAAA.png');
  assert.equal((await at(one.gateway, link)).status, 404);
});

test('a bucket that is missing or refuses is 503 at no cost, base64 comes, and the log says why once', {
  skip: s3Missing,
}, async (t) => {
  const storage = await startS3(t, 'pics');
  for (const [files, keys, why] of [
    ['s3://nowhere', s3Keys, /nowhere .* 404 NoSuchBucket/],
    ['s3://pics', { ...s3Keys, secret_access_key: 'wrong' }, /pics .* 403 SignatureDoesNotMatch/],
  ] as const) {
    const { gateway, said } = await drawing(t, { endpoint: storage.url, ...keys }, { files });
    // Before anybody needs it: an operator who has just corrected the keys wants to know.
    while (said.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    for (let turn = 0; turn < 2; turn++) {
      const answer = await ask(gateway);
      assert.match(await refusal(answer), /b64_json/);
      assert.equal(answer.headers.get('x-culvert-cost'), '0');
    }
    assert.equal((await ask(gateway, { response_format: 'b64_json' })).status, 200);
    assert.equal(said.length, 1, said.join('\n'));
    assert.match(said[0]!, why);
    assert.doesNotMatch(said[0]!, /wrong/);
    const doctor = await gateway.fetch('/admin/v1/doctor', { headers: { authorization: `Bearer ${adminKey}` } });
    const { findings } = (await doctor.json()) as DoctorReply;
    const bucket = findings.find(({ check }) => check === 'bucket');
    assert.equal(bucket?.state, 'problem');
    assert.match(bucket!.message, why);
  }
});

test('while the storage is down a link is 503 and no 500; it opens again when the storage is back', {
  skip: s3Missing,
}, async (t) => {
  const storage = await startS3(t, 'pics');
  const { gateway, said } = await drawing(t, { endpoint: storage.url, ...s3Keys });
  const link = await linkOf(gateway);
  await storage.kill();
  await refusal(await at(gateway, link));
  await refusal(await ask(gateway));
  await storage.restart();
  assert.equal((await at(gateway, link)).status, 200);
  assert.deepEqual(
    said.map((line) => line.slice(0, 22)),
    ['files cannot be kept i', 'files can be kept in t'],
  );
});

test('a sweep removes the files that are old from the folder, of several pages, and nothing else', {
  skip: s3Missing,
}, async (t) => {
  const storage = await startS3(t, 'pics');
  const place = {
    bucket: 'pics',
    endpoint: storage.url,
    region: 'us-east-1',
    style: 'path',
    timeoutMs: 10_000,
  } as const;
  const keys = { accessKeyId: s3Keys.access_key_id, secretAccessKey: s3Keys.secret_access_key };
  const open = (prefix: string) => {
    const bucket = createBucket({ ...place, prefix }, () => keys, null);
    t.after(bucket.close);
    return bucket;
  };
  const [folder, whole] = [open('files/'), open('')];
  const nameOf = (n: number) => fileName(String(n).padStart(20, 'a'), 'png');
  for (let from = 0; from < 1_010; from += 101) {
    const names = Array.from({ length: 101 }, (_, at) => nameOf(from + at));
    await Promise.all(names.map((name) => folder.put(name, Buffer.from('x'), 'image/png')));
  }
  await whole.put('files/of an operator & friends.txt', Buffer.from('x'), 'text/plain');
  await whole.put(nameOf(1), Buffer.from('x'), 'image/png');
  const files = createS3Files(
    async () => folder,
    (message) => assert.fail(message),
  );
  assert.equal(await files.sweep(Date.now() - 60_000), 0);
  assert.equal(await files.sweep(Date.now() + 60_000), 1_010);
  assert.deepEqual(storage.keys('pics'), [nameOf(1), 'files/of an operator & friends.txt']);
});

test('a storage that never answers is given up within ten seconds', async (t) => {
  const silent = createServer(() => undefined);
  const port = await listening(t, silent as never);
  const { gateway } = await drawing(t, { endpoint: `http://127.0.0.1:${port}`, ...s3Keys });
  const began = performance.now();
  await refusal(await ask(gateway));
  assertWithin(performance.now() - began, 12_000);
});

test('a bucket without keys refuses the start by the name of the key to set', async (t) => {
  await assert.rejects(
    startGateway(t, { storage: { files: 's3://pics' } }),
    /storage\.files is s3:\/\/pics, .* storage\.s3\.access_key_id and secret_access_key, .* AWS_ACCESS_KEY_ID/,
  );
});

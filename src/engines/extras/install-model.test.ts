import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type FileHostOptions, fixtureCommit, startFileHost } from '../../../test/fixtures/file-host.ts';
import { addingProgress, extrasFolderAt, installedModel, reportProgress } from './extras-folder.ts';
import { type InstallParts, installModel } from './install-model.ts';
import { modelAtHand } from './model-at-hand.ts';
import { askHost } from './model-host.ts';
import { type ModelManifest, modelManifests } from './model-manifest.ts';

const signal = new AbortController().signal;
const weights = Buffer.alloc(300_000, 'weights ');
const contents: Record<string, Buffer> = {
  '/acme/tiny/resolve/main/config.json': Buffer.from('{"model_type":"tiny"}'),
  '/acme/tiny/resolve/main/onnx/model.onnx': weights,
};

const manifest: ModelManifest = {
  extra: 'embeddings',
  id: 'tiny',
  title: 'Tiny',
  licence: 'MIT',
  repository: 'acme/tiny',
  revision: 'main',
  files: [
    { path: 'config.json', aboutBytes: 20, sha256: null },
    { path: 'onnx/model.onnx', aboutBytes: 300_000, sha256: null },
  ],
  weights: 'fp32',
};

async function world(t: TestContext, options: Partial<FileHostOptions> = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'culvert-extras-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const host = await startFileHost({ content: (path) => contents[path], ...options });
  t.after(() => host.close());
  const folder = extrasFolderAt(dir);
  const shown: number[] = [];
  const rests: number[] = [];
  const parts: InstallParts = {
    folder,
    signal,
    nowMs: () => 1_000,
    onProgress: (done) => shown.push(done),
    rest: async (ms) => void rests.push(ms),
  };
  return {
    host,
    folder,
    shown,
    rests,
    async install(of = manifest) {
      await installModel(of, await askHost(host.url, of, signal), parts);
    },
  };
}

const sha256 = (content: Buffer) => createHash('sha256').update(content).digest('hex');

test('a model is downloaded at the commit that its branch stood for, checked, and marked as whole', async (t) => {
  const { host, folder, shown, install } = await world(t);
  assert.equal(installedModel(folder, 'tiny'), null);
  await install();
  assert.deepEqual(readFileSync(folder.file('tiny', 'onnx/model.onnx')), weights);
  assert.deepEqual(installedModel(folder, 'tiny'), {
    id: 'tiny',
    repository: 'acme/tiny',
    commit: fixtureCommit,
    files: Object.values(contents).map((content, at) => ({
      path: manifest.files[at]!.path,
      bytes: content.length,
      sha256: sha256(content),
      checkedAgainst: 'host',
    })),
  });
  const gets = host.requests.filter((request) => request.startsWith('GET'));
  assert.ok(gets.every((request) => request.includes(`/resolve/${fixtureCommit}/`)));
  assert.equal(shown.at(-1), weights.length + contents['/acme/tiny/resolve/main/config.json']!.length);
  // Nobody adds it any more.
  assert.equal(addingProgress(folder, 'tiny', 1_000), null);
});

test('a download that is cut goes on where it was, and what comes is the file', async (t) => {
  const { host, folder, rests, install } = await world(t, {
    cutAfter: (path, nth) => (path.endsWith('.onnx') && nth < 3 ? 65_536 : undefined),
  });
  await install();
  assert.deepEqual(readFileSync(folder.file('tiny', 'onnx/model.onnx')), weights);
  // Whether a cut connection passed on its bytes depends on the network; that it took four depends on us.
  assert.equal(host.requests.filter((request) => /^GET .*onnx/.test(request)).length, 4);
  assert.equal(rests.length, 3);
});

test('what had come when it was given up is gone on from by the next command', async (t) => {
  let reachable = false;
  const { host, folder, rests, install } = await world(t, {
    cutAfter: (path) => (path.endsWith('.onnx') && !reachable ? 0 : undefined),
  });
  await assert.rejects(install(), /could not be downloaded/);
  assert.deepEqual(rests, [1_000, 2_000, 4_000, 8_000]);
  assert.equal(installedModel(folder, 'tiny'), null);
  writeFileSync(`${folder.file('tiny', 'onnx/model.onnx')}.part`, weights.subarray(0, 100_000));
  reachable = true;
  host.requests.length = 0;
  await install();
  assert.deepEqual(
    host.requests.filter((request) => request.startsWith('GET')).map((request) => request.split(' ')[2] ?? 'whole'),
    ['bytes=100000-'],
  );
  assert.deepEqual(readFileSync(folder.file('tiny', 'onnx/model.onnx')), weights);
});

test('a second command for the same model leaves the file to the first, and goes on where that one died', async (t) => {
  const { folder, install } = await world(t);
  const progress = { doneBytes: 1, totalBytes: 100, bytesPerS: 10, wallMs: 1_000 };
  reportProgress(folder, 'tiny', { ...progress, pid: process.ppid });
  await assert.rejects(install(), new RegExp(`Process ${process.ppid} is downloading`));
  assert.notEqual(addingProgress(folder, 'tiny', 1_000), null, 'the first goes on telling');
  const { pid } = spawnSync(process.execPath, ['--version']);
  reportProgress(folder, 'tiny', { ...progress, pid });
  await install();
  assert.notEqual(installedModel(folder, 'tiny'), null);
});

test('a file that is not what its host says is removed and refused', async (t) => {
  const { folder, install } = await world(t, { says: 'wrong checksums' });
  await assert.rejects(install(), /its checksum is wrong/);
  assert.equal(existsSync(folder.file('tiny', 'config.json')), false);
  assert.equal(existsSync(`${folder.file('tiny', 'config.json')}.part`), false);
  assert.equal(installedModel(folder, 'tiny'), null);
});

test('a checksum of ours wins over what the host says', async (t) => {
  const { folder, install } = await world(t);
  const [config, model] = manifest.files;
  const pinned = { ...manifest, files: [config!, { ...model!, sha256: sha256(weights) }] };
  await install(pinned);
  assert.equal(installedModel(folder, 'tiny')!.files[1]!.checkedAgainst, 'culvert');
  rmSync(folder.model('tiny'), { recursive: true });
  await assert.rejects(
    install({ ...manifest, files: [config!, { ...model!, sha256: 'a'.repeat(64) }] }),
    /its checksum is wrong/,
  );
});

test('a host that says nothing of its files is believed by their length, and that is written down', async (t) => {
  const { folder, install } = await world(t, { says: 'nothing' });
  await install();
  const installed = installedModel(folder, 'tiny')!;
  assert.equal(installed.commit, null);
  assert.deepEqual([...new Set(installed.files.map((file) => file.checkedAgainst))], ['nobody']);
});

test('a file that the host does not have is named before anything is downloaded', async (t) => {
  const { host, install } = await world(t, {
    content: (path) => (path.endsWith('.json') ? Buffer.from('{}') : undefined),
  });
  await assert.rejects(install(), /has no such file: .*\/acme\/tiny\/resolve\/.*\/onnx\/model\.onnx/);
  assert.ok(host.requests.every((request) => request.startsWith('HEAD')));
});

test('no host at all is a sentence that says what else can be done', async () => {
  await assert.rejects(
    askHost('http://127.0.0.1:1', manifest, signal),
    /No answer from 127\.0\.0\.1:1 .*CULVERT_MODEL_HOST/,
  );
});

test('without network what lies in the folder is taken, and what is missing is named with its address', async (t) => {
  const { folder, install } = await world(t);
  assert.throws(
    () => modelAtHand(folder, manifest),
    /2 of 2 files of tiny are missing[\s\S]*resolve\/main\/onnx\/model\.onnx {2}-> {2}onnx/,
  );
  await install();
  rmSync(folder.file('tiny', 'installed.json'));
  assert.deepEqual(
    modelAtHand(folder, manifest).files.map(({ path, bytes }) => [path, bytes]),
    [
      ['config.json', 21],
      ['onnx/model.onnx', 300_000],
    ],
  );
});

test('how far it is can be read meanwhile, and a command that died is not waited for', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'culvert-extras-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const folder = extrasFolderAt(dir);
  const progress = { doneBytes: 30, totalBytes: 100, bytesPerS: 10, wallMs: 5_000, pid: 1 };
  reportProgress(folder, 'tiny', progress);
  assert.deepEqual(addingProgress(folder, 'tiny', 64_000), progress);
  assert.equal(addingProgress(folder, 'tiny', 66_000), null);
});

test('every model says its licence, its source and its size', () => {
  for (const id of ['bge-m3', 'multilingual-e5-large', 'kokoro-82m', 'whisper-base', 'whisper-large-v3-turbo']) {
    const { licence, repository, files } = modelManifests.find((manifest) => manifest.id === id)!;
    assert.ok(licence !== '' && repository.includes('/'));
    assert.ok(files.every(({ path, aboutBytes }) => aboutBytes > 0 && !path.includes('..') && !path.startsWith('/')));
  }
});

import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { runtimePackage, runtimeVersion } from '../../src/engines/extras/install-runtime.ts';
import { modelManifests } from '../../src/engines/extras/model-manifest.ts';
import { fixtureCommit, startFileHost } from '../fixtures/file-host.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';

const manifestOf = (id: string) => modelManifests.find((manifest) => manifest.id === id);

/** An npm that records its arguments and installs what npm would, without the 474 MB. */
const npmScript = `#!/bin/sh
echo "$*" >> "$NPM_CALLS"
test -f package-lock.json || exit 9
mkdir -p node_modules/${runtimePackage}
echo '{"version":"${runtimeVersion}"}' > node_modules/${runtimePackage}/package.json
`;

async function world(t: TestContext, npm = npmScript) {
  const cwd = temporaryFolder(t);
  const bin = join(cwd, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'npm'), npm);
  chmodSync(join(bin, 'npm'), 0o755);
  const host = await startFileHost({ content: (path) => Buffer.from(`content of ${path}`) });
  t.after(() => host.close());
  const calls = join(cwd, 'npm-calls');
  const env = { PATH: `${bin}:${process.env.PATH}`, CULVERT_MODEL_HOST: host.url, NPM_CALLS: calls };
  const models = join(cwd, '.culvert', 'extras', 'models');
  return {
    cwd,
    host,
    models,
    npmCalls: () => (existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : []),
    add: (...args: string[]) => runCommand(['add', ...args], { cwd, env }),
    async states() {
      const { stdout } = await runCommand(['add', '--list', '--json'], { cwd, env });
      const { data } = JSON.parse(stdout) as { data: { model: string; state: string }[] };
      return Object.fromEntries(data.map(({ model, state }) => [model, state]));
    },
  };
}

describe('culvert add, run as a program', { concurrency: true }, () => {
  test('it says licence, source, size and checksums, installs, and lists what is there', async (t) => {
    const { add, models, npmCalls, states } = await world(t);
    const { code, stdout, stderr } = await add('transcription', '--yes');
    assert.equal(code, 0, stderr);
    assert.match(stderr, /licence +MIT/);
    assert.match(
      stderr,
      new RegExp(`source +onnx-community/whisper-base_timestamped, .* commit ${fixtureCommit.slice(0, 10)}`),
    );
    assert.match(stderr, /model +0\.0 MB in 7 files/);
    assert.match(stderr, /packages +@huggingface\/transformers 4\.3\.1 .*npm runs none of their scripts/);
    assert.match(stderr, /checksums of 7 files come from the host itself/);
    assert.match(stdout, /whisper-base is added: culvert\/whisper-base/);
    assert.match(npmCalls()[0]!, /^ci --ignore-scripts/);
    for (const { path } of manifestOf('whisper-base')!.files) assert.ok(existsSync(join(models, 'whisper-base', path)));
    const listed = await states();
    assert.equal(listed['whisper-base'], 'added');
    assert.equal(listed['kokoro-82m'], 'not added');
  });

  test('the packages are installed once, a model that is there is left alone', async (t) => {
    const { add, host, npmCalls } = await world(t);
    assert.equal((await add('transcription', '--yes')).code, 0);
    assert.equal((await add('speech', '--yes', '--json')).code, 0);
    assert.equal(npmCalls().length, 1);
    host.requests.length = 0;
    const { code, stdout } = await add('speech', '--yes', '--json');
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(stdout), { extra: 'speech', model: 'kokoro-82m', state: 'already there' });
    assert.deepEqual(host.requests, []);
  });

  test('S33 --pin takes the commit and the checksums of what was added before: other bytes are refused', async (t) => {
    const first = await world(t);
    assert.equal((await first.add('transcription', '--yes')).code, 0);
    const pin = join(first.models, 'whisper-base', 'installed.json');
    const same = await world(t);
    const added = await same.add('transcription', '--yes', '--pin', pin);
    assert.equal(added.code, 0, added.stderr);
    assert.doesNotMatch(added.stderr, /checksums of .* host's own/);
    assert.ok(same.host.requests.length > 0);
    for (const request of same.host.requests) assert.ok(request.includes(`/resolve/${fixtureCommit}/`), request);

    const told = JSON.parse(readFileSync(pin, 'utf8')) as { files: { sha256: string }[] };
    told.files[0]!.sha256 = '0'.repeat(64);
    const other = await world(t);
    const wrong = join(other.cwd, 'pin.json');
    writeFileSync(wrong, JSON.stringify(told));
    const refused = await other.add('transcription', '--yes', '--pin', wrong);
    assert.equal(refused.code, 1, refused.stdout);
    assert.match(refused.stderr, /config\.json/);
    assert.equal((await other.states())['whisper-base'], 'not added');
    assert.match(
      (await other.add('speech', '--yes', '--pin', pin)).stderr,
      /belongs to whisper-base, not to kokoro-82m/,
    );
    assert.match((await other.add('speech', '--yes', '--pin', join(other.cwd, 'none'))).stderr, /installed\.json/);
  });

  test('without consent nothing is downloaded', async (t) => {
    const { add, host, npmCalls, models } = await world(t);
    const { code, stderr } = await add('speech');
    assert.equal(code, 1);
    assert.match(stderr, /licence +Apache-2\.0[\s\S]*Add --yes/);
    assert.ok(host.requests.every((request) => request.startsWith('HEAD')));
    assert.deepEqual([npmCalls(), existsSync(models)], [[], false]);
  });

  test('without network, what is missing is named; once it is there it is taken, with the packages of the cache', async (t) => {
    const { add, host, models, npmCalls } = await world(t);
    const { code, stderr } = await add('embeddings', '--yes', '--offline');
    assert.equal(code, 1);
    assert.match(
      stderr,
      /4 of 4 files of bge-m3 are missing[\s\S]*Xenova\/bge-m3\/resolve\/main\/onnx\/model_quantized\.onnx/,
    );
    for (const { path } of manifestOf('bge-m3')!.files) {
      mkdirSync(join(models, 'bge-m3', 'onnx'), { recursive: true });
      writeFileSync(join(models, 'bge-m3', path), 'brought by hand');
    }
    const again = await add('embeddings', '--yes', '--offline');
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stderr, /are not known: only their length is checked/);
    assert.match(npmCalls()[0]!, /--offline$/);
    assert.deepEqual(host.requests, []);
  });

  test('an npm that fails is quoted, and the model can be added later', async (t) => {
    const { add, models } = await world(t, '#!/bin/sh\necho "npm error code ENOTFOUND" >&2\nexit 1\n');
    const { code, stderr } = await add('speech', '--yes');
    assert.equal(code, 1);
    assert.match(stderr, /could not be installed: npm error code ENOTFOUND/);
    assert.equal(existsSync(models), false);
  });

  test('wrong calls are answered with what can be called', async (t) => {
    const { add } = await world(t);
    for (const [args, words] of [
      [[], /embeddings \| speech \| transcription/],
      [['images'], /'images' is invalid.* embeddings, speech, transcription/],
      [['speech', '--model', 'bark'], /no model 'bark' for speech\. The models are kokoro-82m/],
    ] as const) {
      const { code, stderr } = await add(...args);
      assert.equal(code, 2);
      assert.match(stderr, words);
    }
  });
});

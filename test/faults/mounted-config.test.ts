import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { noLimits } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { startGatewayProcess } from './gateway-process.ts';

/* Configuration out of mounted ConfigMaps and Secrets, whose files the kubelet exchanges under a running pod. */

/** A volume as the kubelet writes it: a folder for each version, `..data` linking to the present one, a link for each key. */
function mountVolume(folder: string) {
  let version = 0;
  let keys: string[] = [];
  mkdirSync(folder);
  return (files: Readonly<Record<string, string>>) => {
    const before = version === 0 ? null : `..version_${version}`;
    const now = `..version_${++version}`;
    mkdirSync(join(folder, now));
    for (const [key, text] of Object.entries(files)) writeFileSync(join(folder, now, key), text);
    symlinkSync(now, join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    const next = Object.keys(files);
    for (const key of next) if (!keys.includes(key)) symlinkSync(join('..data', key), join(folder, key));
    for (const key of keys) if (!next.includes(key)) rmSync(join(folder, key));
    keys = next;
    if (before !== null) rmSync(join(folder, before), { recursive: true });
  };
}

const provider = (url: string) =>
  `providers: { mock: { type: openai, base_url: "${url}/v1", api_key: "\${file:upstream-key}" } }`;

test('a new model in a ConfigMap and new keys in a Secret answer within seconds, without a restart', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const mounts = temporaryFolder(t);
  const models = mountVolume(join(mounts, 'models'));
  const secrets = mountVolume(join(mounts, 'secrets'));
  models({ 'a.yaml': 'models: { first: { targets: [mock/ok] } }' });
  const keys = (...names: string[]) =>
    `keys: [${names.map((name) => `{ key: sk-cv-mounted-${name}, account: dev, name: ${name} }`).join(', ')}]`;
  secrets({ 'keys.yaml': keys('one'), 'providers.yaml': provider(upstream.url), 'upstream-key': 'sk-upstream-1' });
  const include = [join(mounts, 'models'), join(mounts, 'secrets')];
  const gateway = await startGatewayProcess(t, { include, keys: [], plans: noLimits });
  const log = () => readFileSync(gateway.file.replace('culvert.yaml', 'log'), 'utf8');
  const ask = async (model: string, key = 'one') => {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer sk-cv-mounted-${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
    });
    await response.arrayBuffer();
    return response.status;
  };
  const answers = async (what: string, model: string, key?: string) => {
    const began = Date.now();
    await until(what, async () => (await ask(model, key)) === 200);
    t.diagnostic(`${what}: ${Date.now() - began} ms`);
  };
  assert.equal(await ask('first'), 200);
  assert.equal(await ask('second'), 404);
  assert.equal(await ask('first', 'two'), 401);

  models({ 'a.yaml': 'models: { first: { targets: [mock/ok] }, second: { targets: [mock/ok] } }' });
  await answers('a changed key of the ConfigMap', 'second');
  models({
    'a.yaml': 'models: { first: { targets: [mock/ok] } }',
    'b.yaml': 'models: { third: { targets: [mock/ok] } }',
  });
  await answers('a new key of the ConfigMap', 'third');
  await until('the model that is gone is refused', async () => (await ask('second')) === 404);

  secrets({
    'keys.yaml': keys('one', 'two'),
    'providers.yaml': provider(upstream.url),
    'upstream-key': 'sk-upstream-2',
  });
  await answers('a new key of callers', 'first', 'two');
  assert.equal(await ask('first'), 200);
  assert.equal(upstream.requests().at(-1)?.headers.authorization, 'Bearer sk-upstream-2');

  models({ 'a.yaml': 'models: { first: { target: [mock/ok] } }', 'b.yaml': 'server: { port: 1 }' });
  await until('the mistakes are in the log', () =>
    /models\/a\.yaml:1:\d+ models\.first\.target: unknown key/.test(log()),
  );
  assert.match(log(), /models\/b\.yaml:1:1 server: an included file has providers, models/);
  assert.equal(await ask('third'), 200);
  assert.doesNotMatch(log(), /sk-upstream|sk-cv-mounted/);
});

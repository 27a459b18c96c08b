// npm run test:image [-- --slim]
// Builds the images of deploy/Dockerfile and runs them as an operator would who is careful: a read-only root, no
// capability, no new privileges, one volume. Takes seven minutes the first time, and then what the changed steps take.

import assert from 'node:assert/strict';
import { chownSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { closedPort, temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { build, imitateBases, podman, podmanSays, root, toolsMissing } from './podman.ts';

const missing = toolsMissing();
if (missing !== null) {
  console.error(`Images cannot be built here: ${missing}.`);
  process.exit(1);
}

const key = 'sk-cv-image00000001';
const adminKey = 'sk-cv-admin-image00000001';
const user = 10001;

await imitateBases();
const upstream = await startUpstream();
after(() => upstream.close());

interface Container {
  name: string;
  url: string;
  data: string;
  logs(): Promise<string>;
}

let started = 0;

/** Runs the image; resolves once it answers. `data` is the volume: default a new, empty one. */
async function start(
  t: Pick<TestContext, 'after'>,
  image: string,
  { data = newVolume(t), options = [] }: { data?: string; options?: readonly string[] } = {},
): Promise<Container> {
  const port = await closedPort();
  started += 1;
  const name = `culvert-test-${process.pid}-${started}`;
  const careful = ['--read-only', '--read-only-tmpfs=false', '--cap-drop=all', '--security-opt=no-new-privileges'];
  // Without systemd, podman cannot set its own limits or check the health by itself.
  const here = ['--network=host', '--ulimit=nofile=4096:4096', '--ulimit=nproc=4096:4096'];
  const environment = { CULVERT_API_KEY: key, CULVERT_ADMIN_KEY: adminKey, PORT: String(port) };
  const variables = Object.entries(environment).flatMap(([variable, value]) => ['--env', `${variable}=${value}`]);
  const volume = ['--volume', `${data}:/data`];
  t.after(() => podman('rm', '--force', '--time', '0', name));
  await podmanSays('run', '--detach', '--name', name, ...careful, ...here, ...volume, ...variables, ...options, image);
  const logs = async () => {
    const { stdout, stderr } = await podman('logs', name);
    return stdout + stderr;
  };
  const url = `http://127.0.0.1:${port}`;
  const endMs = Date.now() + 30_000;
  while (
    !(await fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    ))
  ) {
    if (Date.now() > endMs) assert.fail(`${image} did not answer within 30 s:\n${await logs()}`);
    await pause(50);
  }
  return { name, url, data, logs };
}

function newVolume(t: Pick<TestContext, 'after'>): string {
  const folder = temporaryFolder({ after: (end) => t.after(() => end()) });
  chownSync(folder, user, user);
  return folder;
}

async function ask(url: string, path: string, json?: unknown, asked = key): Promise<Response> {
  const answer = await fetch(url + path, {
    method: json === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${asked}`, 'content-type': 'application/json' },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
  if (!answer.ok) assert.fail(`${path}: ${answer.status} ${await answer.text()}`);
  return answer;
}

const messages = [{ role: 'user', content: 'Hello' }];

/** As an operator does who has started it without any file. */
async function addProvider(url: string): Promise<void> {
  const provider = { name: 'up', type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' };
  await ask(url, '/admin/v1/providers', provider, adminKey);
}

async function sizeMb(image: string): Promise<number> {
  return Math.round(Number(await podmanSays('image', 'inspect', image, '--format', '{{.Size}}')) / 1e6);
}

test('slim: configured by the environment alone, it answers; root is read-only, nobody is root', async (t) => {
  build('slim');
  const mb = await sizeMb('culvert:slim');
  t.diagnostic(`${mb} MB`);
  assert.ok(mb < 290, `${mb} MB`);
  const { name, url, data } = await start(t, 'culvert:slim');
  await addProvider(url);
  await ask(url, '/v1/chat/completions', { model: 'up/mock/ok', messages });
  const embedded = await ask(url, '/v1/embeddings', { model: 'culvert-lexical-1024', input: 'Bread' });
  assert.equal(((await embedded.json()) as { data: { embedding: number[] }[] }).data[0]!.embedding.length, 1024);
  assert.equal((await fetch(`${url}/dashboard`)).status, 200, 'the dashboard is inside');
  await ask(url, '/admin/v1/accounts', undefined, adminKey);

  assert.equal(await podmanSays('exec', name, 'id', '-un'), 'culvert');
  assert.match((await podman('exec', name, 'touch', '/app/x')).stderr, /Read-only file system/);
  for (const file of readdirSync(data)) assert.equal(statSync(`${data}/${file}`).uid, user, file);
  // Everything that it wrote, is on the volume; no package manager of Node's came along.
  assert.equal((await podman('exec', name, 'which', 'npm')).code, 1);
  assert.equal((await podman('exec', name, 'culvert', 'keys', 'list')).code, 0, 'commands work inside');
});

test('the health check needs no other program, and fails when nobody listens', async (t) => {
  const { name } = await start(t, 'culvert:slim');
  const check = JSON.parse(
    await podmanSays('image', 'inspect', 'culvert:slim', '--format', '{{json .HealthCheck.Test}}'),
  );
  assert.equal(check[0], 'CMD');
  assert.equal((await podman('exec', name, ...check.slice(1))).code, 0);
  const elsewhere = ['exec', '--env', `PORT=${await closedPort()}`, name, ...check.slice(1)];
  assert.equal((await podman(...elsewhere)).code, 1);
});

test('SIGTERM arrives: a running stream ends whole, the exit code is 0, and the volume is as it was left', async (t) => {
  const first = await start(t, 'culvert:slim');
  await addProvider(first.url);
  upstream.script('/v1/chat/completions', ['chunks=60;slow-reasoning=2s']);
  const stream = await ask(first.url, '/v1/chat/completions', { model: 'up/mock/ok', messages, stream: true });
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = (await reader.read()).value ?? '';
  const stopped = podmanSays('stop', first.name);
  for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
  assert.match(text, /data: \[DONE\]/);
  await stopped;
  assert.equal(await podmanSays('inspect', first.name, '--format', '{{.State.ExitCode}}'), '0', await first.logs());
  assert.match(await first.logs(), /SIGTERM: running requests finish/);

  const second = await start(t, 'culvert:slim', { data: first.data });
  const { data } = (await (await ask(second.url, '/admin/v1/requests', undefined, adminKey)).json()) as {
    data: unknown[];
  };
  assert.equal(data.length, 1, 'the request of the first container is in the ledger');
});

test('a mounted culvert.yaml is used', async (t) => {
  const file = `${newVolume(t)}/culvert.yaml`;
  writeFileSync(file, 'plans: { tiny: { rpm: 5 } }\n', { mode: 0o644 });
  chownSync(file, user, user);
  const { url } = await start(t, 'culvert:slim', { options: ['--volume', `${file}:/etc/culvert/culvert.yaml:ro`] });
  await ask(url, '/admin/v1/plans/tiny', undefined, adminKey);
});

test('full: speaks by espeak-ng and ffmpeg, and renders a page in Chromium with its sandbox', async (t) => {
  if (process.argv.includes('--slim')) return t.skip('--slim');
  build('full');
  const mb = await sizeMb('culvert:full');
  t.diagnostic(`${mb} MB`);
  assert.ok(mb < 1_400, `${mb} MB`);
  const page = `<div id="root"></div><script>root.innerHTML = '<p>Written by a script.</p>'</script>`;
  const site = createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(page));
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  t.after(() => site.close());
  const place = `127.0.0.1:${(site.address() as { port: number }).port}`;
  const file = `${newVolume(t)}/culvert.yaml`;
  writeFileSync(file, `fetch: { allow_private: ["${place}"] }\n`, { mode: 0o644 });
  chownSync(file, user, user);
  const profile = `${root}/deploy/seccomp-chromium.json`;
  const options = ['--volume', `${file}:/etc/culvert/culvert.yaml:ro`, '--security-opt', `seccomp=${profile}`];
  const { name, url, logs } = await start(t, 'culvert:full', { options });

  const speech = await ask(url, '/v1/audio/speech', { model: 'espeak-ng', voice: 'alloy', input: 'Hello.' });
  assert.equal(speech.headers.get('content-type'), 'audio/mpeg');
  assert.ok((await speech.arrayBuffer()).byteLength > 1_000);
  const read = await ask(url, '/v1/tools/scrape', { url: `http://${place}/`, render: 'always' });
  const text = await read.text();
  assert.match(text, /Written by a script/, await logs());
  assert.doesNotMatch(text, /no sandbox/);
  assert.equal((await podman('exec', name, 'npm', '--version')).code, 0, 'culvert add needs it');
});

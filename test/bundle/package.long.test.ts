import assert from 'node:assert/strict';
import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { stringify } from 'yaml';
import { chromiumMissing } from '../chromium.ts';
import { wavOf } from '../scripted-transcriber.ts';
import { missingTool } from '../sound.ts';
import { postgresMissing, startPostgres } from '../start-postgres.ts';
import { cleanEnv, launch, runCommand, startProcess, temporaryFolder } from '../start-process.ts';
import { redisMissing, startRedis } from '../start-redis.ts';
import { startOtlpReceiver } from '../telemetry/otlp-receiver.ts';
import { startAwkwardSite } from '../tools/awkward-site.ts';
import { installPackage } from './install-package.ts';

/*
 * The package that users install: one request of every family, without sources and other packages. Other tests cover
 * the full answers; this one checks that the bundle holds what they need.
 */

const { folder, tarball, bin, files } = await installPackage({ after });
const installed = readdirSync(dirname(folder)).filter((name) => !name.startsWith('.'));
// As users add it who want rendered pages.
symlinkSync(dirname(createRequire(import.meta.url).resolve('playwright-core')), join(folder, '../playwright-core'));
const written = `<div id="root"></div><script>root.innerHTML = '<p>Written by a script.</p>'</script>`;
const stream = 'BT /F1 12 Tf 72 700 Td (A page of a document.) Tj ET';
const pdf = `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj
4 0 obj<</Length ${stream.length}>>stream\n${stream}\nendstream endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
trailer<</Root 1 0 R>>`;
const serve = (type: string, body: string) => (response: ServerResponse) =>
  void response.writeHead(200, { 'content-type': type }).end(body);
const site = await startAwkwardSite(
  { after },
  { '/app': serve('text/html', written), '/pdf': serve('application/pdf', pdf) },
);
const cwd = temporaryFolder({ after });
const key = 'sk-cv-test-key-0001';
const adminKey = 'sk-cv-admin-test-key-0001';
writeFileSync(
  join(cwd, 'culvert.yaml'),
  stringify({
    server: { port: 0 },
    admin: { key: adminKey },
    keys: [{ key, account: 'dev', name: 'test' }],
    fetch: { allow_private: [site.place] },
    tools: { search: { providers: [{ type: 'corpus' }] }, scrape: { render_without_sandbox: true } },
    plans: { default: { windows: 'off', rpm: 'off' } },
    autodetect: 'off',
  }),
);
const receiver = await startOtlpReceiver({ after });
const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_RESOURCE_ATTRIBUTES: 'service.name=packed,a.b=c' };
const gateway = await startProcess({ after }, { bin, cwd, args: [], env: variables });

interface Asked {
  json?: unknown;
  form?: FormData;
  headers?: Record<string, string>;
}

async function ask(path: string, { json, form, headers }: Asked = {}): Promise<Response> {
  const answer = await fetch(gateway.url + path, {
    method: json === undefined && form === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${path.startsWith('/admin') || path === '/metrics' ? adminKey : key}`,
      ...(json !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
    ...(form !== undefined && { body: form }),
  });
  if (!answer.ok) assert.fail(`${path}: ${answer.status} ${await answer.text()}\n${gateway.stderr()}`);
  return answer;
}

const textOf = async (path: string, asked?: Asked) => (await ask(path, asked)).text();
const bodyOf = async <Body>(path: string, asked?: Asked) => (await (await ask(path, asked)).json()) as Body;
const messages = [{ role: 'user', content: 'Hello' }];

test('the package holds the bundle and its licences, and nothing for tests alone', () => {
  assert.deepEqual([...new Set(files.map((file) => file.split('/')[0]))].sort(), [
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'bin',
    'dist',
    'docs',
    'package.json',
  ]);
  assert.deepEqual(installed, ['culvert-gateway'], 'no other package came with it');
  const pictures = files.filter((file) => file.endsWith('.webp')).map((file) => file.split('/').slice(0, 3).join('/'));
  assert.deepEqual([...new Set(pictures)], ['dist/web/docs'], 'pictures of the dashboard are there once');
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { repository: object };
  const names = ['name', 'version', 'description', 'license', 'type', 'bin', 'man', 'files', 'engines', 'exports'];
  const published = [...names, 'peerDependencies', 'peerDependenciesMeta', 'repository'];
  assert.deepEqual(
    Object.keys(manifest)
      .filter((key) => !key.startsWith('_'))
      .sort(),
    published.sort(),
  );
  assert.deepEqual(manifest.repository, { type: 'git', url: 'git+https://git.example/someone/culvert.git' });
  const licences = readFileSync(join(folder, 'dist', 'LICENSES.txt'), 'utf8');
  assert.match(licences, /^zod \d\S+ \(MIT\)$/m);
  assert.doesNotMatch(licences, /^(fast-check|openai|@anthropic-ai\/sdk|typescript) /m);
});

test('the bill of materials names what the bundle holds, and nothing else', async () => {
  interface Bill {
    components: { name: string; 'bom-ref': string; hashes?: object[]; licenses?: object[] }[];
    dependencies: { ref: string; dependsOn: string[] }[];
  }
  const { sbomOf } = (await import(String(new URL('../../scripts/sbom.mjs', import.meta.url)))) as {
    sbomOf(dist: string, options: { executable: boolean }): Bill;
  };
  const { components, dependencies } = sbomOf(join(folder, 'dist'), { executable: false });
  const names = components.map(({ name }) => name);
  for (const name of ['zod', 'undici', 'react']) assert.ok(names.includes(name), name);
  for (const name of ['typescript', 'openai', 'fast-check', 'playwright-core']) assert.ok(!names.includes(name), name);
  const bare = components.filter(({ hashes, licenses }) => hashes === undefined || licenses === undefined);
  assert.deepEqual(bare, [], 'each has a checksum and a licence');
  const refs = new Set(['culvert-gateway', ...components.map((component) => component['bom-ref'])]);
  for (const { dependsOn } of dependencies)
    assert.deepEqual(
      dependsOn.filter((ref) => !refs.has(ref)),
      [],
    );
  const more = sbomOf(join(folder, 'dist'), { executable: true }).components.map(({ name }) => name);
  assert.deepEqual(more.filter((name) => !names.includes(name)).sort(), [
    'aws4fetch',
    'node',
    'nodemailer',
    'playwright-core',
  ]);
});

test('the command that npm links starts it, and the dashboard has its pages', async () => {
  const linked = join(folder, '../.bin/culvert');
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  assert.equal((await runCommand(['--version'], { bin: linked, cwd })).stdout, `${version}\n`);
  const page = await (await fetch(`${gateway.url}/dashboard`)).text();
  const [, script] = /<script type="module"[^>]* src="([^"]+)"/.exec(page)!;
  const loaded = await fetch(new URL(script!, gateway.url));
  assert.deepEqual([loaded.status, loaded.headers.get('content-type')], [200, 'text/javascript; charset=utf-8']);
});

test('a global installation has the command and the manual page', async (t) => {
  const prefix = temporaryFolder(t);
  const { status, stderr } = spawnSync('npm', ['install', '--global', '--offline', '--prefix', prefix, tarball], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  const { stdout } = await runCommand(['--help'], { bin: join(prefix, 'bin', 'culvert'), cwd });
  assert.match(stdout, /^Usage: culvert /);
  assert.match(readFileSync(join(prefix, 'share', 'man', 'man1', 'culvert.1'), 'utf8'), /^\.TH CULVERT 1 /m);
});

test('an older Node says in one line what to do', async () => {
  const older = `data:text/javascript,Object.defineProperty(process, 'versions', { value: { node: '22.1.0' } })`;
  const { code, stdout, stderr } = await runCommand(['start'], {
    bin,
    cwd,
    env: { NODE_OPTIONS: `--import="${older}"` },
  });
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /^culvert needs Node 24 or newer; this is Node 22\.1\.0\. Install Node 24 [^\n]*\n$/);
});

test('every dialect answers, whole and streamed', async () => {
  const conversations: [string, object, RegExp][] = [
    ['/v1/chat/completions', { model: 'sim/chat', messages }, /\[DONE\]/],
    ['/v1/messages', { model: 'sim/chat', messages, max_tokens: 50 }, /message_stop/],
    ['/v1/responses', { model: 'sim/chat', input: 'Hello' }, /response\.completed/],
  ];
  for (const [path, json, end] of conversations) {
    assert.match(await textOf(path, { json }), /\[simulated\]/);
    assert.match(await textOf(path, { json: { ...json, stream: true } }), end);
  }
  const json = { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] };
  assert.match(await textOf('/v1beta/models/sim/chat:generateContent', { json }), /\[simulated\]/);
  assert.match(await textOf('/v1beta/models/sim/chat:streamGenerateContent?alt=sse', { json }), /"finishReason"/);
});

test('a large body is read in its thread, and tokens are counted in theirs', async () => {
  const large = [{ role: 'user', content: 'x'.repeat(2_000_000) }];
  assert.match(await textOf('/v1/chat/completions', { json: { model: 'sim/chat', messages: large } }), /\[simulated\]/);
  const counted = await bodyOf<{ input_tokens: number }>('/v1/messages/count_tokens', {
    json: { model: 'sim/chat', messages },
  });
  assert.ok(counted.input_tokens > 0);
});

test('texts become vectors, also by the engine that is built in', async () => {
  for (const model of ['sim/embedding', 'culvert-lexical-1024']) {
    const { data } = await bodyOf<{ data: { embedding: number[] }[] }>('/v1/embeddings', {
      json: { model, input: ['a culvert', 'a bridge'] },
    });
    assert.equal(data.length, 2);
    assert.ok(data[0]!.embedding.length > 100);
  }
});

test('vectors are kept and found by text', async () => {
  await ask('/v1/vectors/collections', { json: { name: 'docs', embedding_model: 'culvert-lexical-1024' } });
  const points = [
    { id: 1, payload: { text: 'Bread is made of flour, water and salt.' } },
    { id: 2, payload: { text: 'The central bank raised its rates.' } },
  ];
  await ask('/v1/vectors/collections/docs/points', { json: { points } });
  const found = await textOf('/v1/vectors/collections/docs/points/search', {
    json: { text: 'how bread is baked', limit: 1, with_payload: true },
  });
  assert.match(found, /flour/);
});

test("Qdrant's API at the root searches by words and by meaning at once", async () => {
  const put = async (path: string, json: unknown) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const answer = await fetch(gateway.url + path, { method: 'PUT', headers, body: JSON.stringify(json) });
    assert.equal(answer.status, 200, await answer.text());
  };
  await put('/collections/both', {
    vectors: { meaning: { embedding_model: 'culvert-lexical-1024' } },
    sparse_vectors: { words: { embedding_model: 'culvert-bm25' } },
  });
  await put('/collections/both/points', { points: [{ id: 1, payload: { text: 'Error E4711 means a cut stream.' } }] });
  const query = { text: 'E4711' };
  const json = {
    prefetch: ['meaning', 'words'].map((using) => ({ query, using })),
    query: { fusion: 'rrf' },
    with_payload: true,
  };
  assert.match(await textOf('/collections/both/points/query', { json }), /cut stream/);
});

test('sound is made and written down', { skip: missingTool('ffmpeg') }, async () => {
  const json = { model: 'tts-1', voice: 'alloy', input: 'Hello from Culvert.' };
  const sound = await (await ask('/v1/audio/speech', { json })).arrayBuffer();
  assert.ok(sound.byteLength > 1_000);
  assert.match(await textOf('/v1/audio/voices'), /alloy/);
  const form = new FormData();
  form.set('model', 'sim/transcription');
  form.set('file', new Blob([sound]), 'hello.mp3');
  assert.match(await textOf('/v1/audio/transcriptions', { form }), /"text"/);
});

test('pictures are made, and kept where they are linked', async () => {
  const json = { model: 'sim/image', prompt: 'A culvert.', size: '512x512', response_format: 'url' };
  const { data } = await bodyOf<{ data: { url: string }[] }>('/v1/images/generations', { json });
  const picture = await fetch(data[0]!.url);
  assert.deepEqual([picture.status, picture.headers.get('content-type')], [200, 'image/png']);
});

test('pages are read, searched and crawled', async () => {
  const url = `${site.url}/article`;
  assert.match(await textOf('/v1/tools/scrape', { json: { url } }), /# An article/);
  assert.match(await textOf('/v1/tools/scrape', { json: { url: `${site.url}/pdf` } }), /A page of a document/);
  assert.match(await textOf('/v1/tools/search', { json: { query: 'words' } }), /\/article/);
  assert.match(await textOf('/v1/tools/map', { json: { url } }), /"links"/);
  const { id } = await bodyOf<{ id: string }>('/v1/tools/crawl', {
    json: { url, limit: 1, excludePaths: ['^/elsewhere'] },
  });
  for (;;) {
    const { status } = await bodyOf<{ status: string }>(`/v1/tools/crawl/${id}`);
    if (status === 'completed') break;
    assert.equal(status, 'scraping');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
});

test('pages are rendered by Chromium', { skip: chromiumMissing }, async () => {
  assert.match(await textOf('/v1/tools/scrape', { json: { url: `${site.url}/app` } }), /Written by a script/);
});

test('assistants find the tools over MCP', async () => {
  const listed = await textOf('/mcp', {
    json: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
    headers: { accept: 'application/json, text/event-stream' },
  });
  assert.match(listed, /vector_search/);
  const called = await textOf('/mcp', {
    json: {
      jsonrpc: '2.0',
      id: 2,
      method: 'tools/call',
      params: { name: 'scrape', arguments: { url: `${site.url}/article` } },
    },
    headers: { accept: 'application/json, text/event-stream' },
  });
  assert.match(called, /# An article/);
});

test('providers and a Qdrant are called over the network, with every endpoint that is passed on', async (t) => {
  const mock = launch(t, ['mock', '--port', '0'], { bin });
  const listening = /http:\/\/[\d.]+:\d+/;
  await mock.said(listening);
  const [upstream] = listening.exec(mock.stdout() + mock.stderr())!;
  const folder = temporaryFolder(t);
  const settings = {
    server: { port: 0 },
    keys: [{ key, account: 'dev', name: 'test' }],
    providers: { up: { type: 'openai', base_url: `${upstream}/v1`, api_key: 'upstream-secret' } },
    vectors: { engine: 'qdrant', url: gateway.url, api_key: key },
    plans: { default: { windows: 'off', rpm: 'off' } },
    autodetect: 'off',
  };
  writeFileSync(join(folder, 'culvert.yaml'), stringify(settings));
  const over = await startProcess(t, { bin, cwd: folder, args: [] });
  const call = async (path: string, body: FormData | object, method = 'POST') => {
    const isForm = body instanceof FormData;
    const answer = await fetch(over.url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(!isForm && { 'content-type': 'application/json' }) },
      body: isForm ? body : JSON.stringify(body),
    });
    const text = await answer.text();
    assert.equal(answer.status, 200, `${path}: ${text}\n${over.stderr()}`);
    return text;
  };
  const model = 'up/mock/ok';
  const chat = { model, messages };
  assert.match(await call('/v1/chat/completions', chat), /"choices"/);
  assert.match(await call('/v1/chat/completions', { ...chat, stream: true }), /\[DONE\]/);
  assert.match(await call('/v1/messages', { ...chat, max_tokens: 50, stream: true }), /message_stop/);
  assert.match(await call('/v1/completions', { model, prompt: 'Hello' }), /"text"/);
  assert.match(await call('/v1/moderations', { model, input: 'Hello' }), /"results"/);
  assert.match(await call('/v1/rerank', { model, query: 'bread', documents: ['flour', 'rates'] }), /"results"/);
  assert.match(await call('/v1/embeddings', { model, input: 'Hello' }), /"embedding"/);
  const form = (name: string, file: Blob, fields: Record<string, string>) => {
    const made = new FormData();
    for (const [field, value] of Object.entries(fields)) made.set(field, value);
    made.set(name, file, name === 'image' ? 'picture.png' : 'hello.wav');
    return made;
  };
  const sound = form('file', new Blob([wavOf(1)]), { model });
  assert.match(await call('/v1/audio/translations', sound), /"text"/);
  const picture = form('image', new Blob([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])]), {
    model,
    prompt: 'Larger.',
  });
  assert.match(await call('/v1/images/edits', picture), /"b64_json"|"url"/);
  await call('/collections/far', { vectors: { size: 2, distance: 'Dot' } }, 'PUT');
  await call('/collections/far/points', { points: [{ id: 7, vector: [1, 0] }] }, 'PUT');
  assert.match(await call('/collections/far/points/search', { vector: [1, 0], limit: 1 }), /"id":7/);
});

test('models, usage, requests, the admin API, metrics and the description of it all are served', async () => {
  assert.match(await textOf('/v1/models'), /"sim\/chat"/);
  assert.match(await textOf('/v1/usage'), /"windows"/);
  const called = await ask('/v1/chat/completions', { json: { model: 'sim/chat', messages } });
  assert.match(await textOf(`/v1/requests/${called.headers.get('x-culvert-request-id')}`), /"sim\/chat"/);
  await ask('/admin/v1/accounts', { json: { name: 'written' } });
  assert.match(await textOf('/admin/v1/keys'), /"dev"/);
  assert.match(await textOf('/metrics'), /culvert_requests_total/);
  assert.match(await textOf('/openapi.json'), /"\/v1\/chat\/completions"/);
  await ask('/readyz');
});

test('an application imports the gateway and the formats, and stays what it was', async (t) => {
  const data = temporaryFolder(t);
  const file = join(dirname(dirname(folder)), 'application.mjs');
  writeFileSync(
    file,
    `import { createGateway, GatewayError } from 'culvert-gateway';
    import { convertRequest } from 'culvert-gateway/formats';
    const keys = [{ key: '${key}', account: 'dev', name: 'test' }];
    const config = { keys, storage: { data_dir: ${JSON.stringify(data)} }, autodetect: 'off' };
    const gateway = createGateway({ config, env: {}, log: 'off' });
    const headers = { authorization: 'Bearer ${key}', 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'sim/chat', messages: [{ role: 'user', content: 'Hello' }] });
    const answer = await gateway.fetch('http://culvert/v1/chat/completions', { method: 'POST', headers, body });
    const wrong = await createGateway({ config: { server: { port: 'seven' } }, env: {} }).start().catch((error) => error);
    console.log(JSON.stringify({
      status: answer.status,
      text: await answer.text(),
      wrong: wrong instanceof GatewayError && wrong.problems,
      body: convertRequest('openai-chat', 'gemini', JSON.parse(body)).body,
      listeners: process.listenerCount('SIGTERM') + process.listenerCount('uncaughtException'),
    }));
    await gateway.close();`,
  );
  const ran = spawnSync(process.execPath, [file], { env: cleanEnv({}), encoding: 'utf8' });
  assert.equal(ran.status, 0, ran.stderr);
  const told = JSON.parse(ran.stdout) as Record<string, unknown>;
  assert.equal(told.status, 200);
  assert.match(String(told.text), /\[simulated\]/);
  assert.equal((told.wrong as { path: string }[])[0]?.path, 'server.port');
  assert.match(JSON.stringify(told.body), /Hello/);
  assert.equal(told.listeners, 0);
});

test('commands run, beside the server and without one', async (t) => {
  const env = { CULVERT_ADMIN_KEY: adminKey, CULVERT_API_KEY: key };
  const culvert = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCommand(args, { bin, cwd, env });
    assert.equal(code, 0, `culvert ${args.join(' ')}: ${stdout}${stderr}`);
    return stdout;
  };
  const made = await culvert('keys', 'create', '--account', 'team', '--name', 'laptop', '--url', gateway.url);
  assert.match(made, /^sk-cv-/);
  assert.match(await culvert('check'), /^OK: culvert\.yaml/);
  assert.match(await culvert('--version'), /^\d+\.\d+\.\d+/);
  assert.match(await culvert('chat', 'Hello', '--url', gateway.url), /\[simulated\]/);
  assert.match(await culvert('requests', 'list', '--url', gateway.url), /sim\/chat/);
  assert.match(await culvert('doctor'), /"findings"/);
  assert.match(await culvert('mock', '--help'), /Example/);
  const elsewhere = { bin, cwd: temporaryFolder(t) };
  const mcp = spawnSync(process.execPath, [bin, 'mcp', '--url', gateway.url], {
    env: cleanEnv(env),
    input: `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })}\n`,
    encoding: 'utf8',
  });
  assert.match(mcp.stdout, /vector_search/, mcp.stderr);
  assert.equal((await runCommand(['init'], elsewhere)).code, 0);
  assert.match((await runCommand(['keys', 'list'], elsewhere)).stdout, /"data"/);
});

test('PostgreSQL and Redis keep the books', { skip: postgresMissing || redisMissing }, async (t) => {
  const [postgres, redis] = await Promise.all([startPostgres(t), startRedis(t)]);
  const folder = temporaryFolder(t);
  const storage = { database: postgres.url, state: redis.url, secret: 'MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=' };
  const settings = { server: { port: 0 }, keys: [{ key, account: 'dev', name: 'test' }], storage, autodetect: 'off' };
  writeFileSync(join(folder, 'culvert.yaml'), stringify(settings));
  const shared = await startProcess(t, { bin, cwd: folder, args: [] });
  while (!(await fetch(`${shared.url}/readyz`)).ok) await new Promise((resolve) => setTimeout(resolve, 50));
  const answer = await fetch(`${shared.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim/chat', messages }),
  });
  assert.equal(answer.status, 200, await answer.text());
  assert.deepEqual(await shared.stop(), { code: 0, signal: null });
});

test('the process of added models tells why one cannot be loaded, and ends with the gateway', async () => {
  const host = fork(join(folder, 'dist', 'engine-host.js'), { stdio: 'ignore' });
  const gone = once(host, 'exit');
  const load = { extra: 'speech', model: 'kokoro-82m', runtime: join(folder, 'nowhere'), files: folder };
  host.send({ kind: 'load', load });
  const [told] = (await once(host, 'message')) as [{ kind: string; message: string }];
  assert.equal(told.kind, 'not-loaded');
  assert.match(told.message, /kokoro-82m could not be loaded: /);
  host.disconnect();
  assert.deepEqual(await gone, [0, null]);
});

test('an unexpected error names the file and the line of the source, in threads too', async (t) => {
  const folder = temporaryFolder(t);
  const preload = (text: string) => {
    const file = join(folder, 'broken.mjs');
    writeFileSync(file, text);
    return { NODE_OPTIONS: `--import=${file}` };
  };
  const command = preload("process.stdout.write = () => { throw new RangeError('broken') };");
  const { code, stderr } = await runCommand(['models'], { bin, cwd, env: command });
  assert.notEqual(code, 0);
  assert.match(stderr, /RangeError: broken[\s\S]* at .*src\/cli\/commands\/models\.ts:\d+/);

  writeFileSync(
    join(folder, 'culvert.yaml'),
    stringify({ server: { port: 0 }, keys: [{ key, account: 'dev', name: 'test' }], autodetect: 'off' }),
  );
  const threads = preload(`import { isMainThread } from 'node:worker_threads';
    const { set } = Map.prototype;
    if (!isMainThread) Map.prototype.set = function (key, value) {
      if (value?.body?.facts !== undefined) throw new RangeError('broken');
      return set.call(this, key, value);
    };`);
  const broken = await startProcess(t, { bin, cwd: folder, args: [], env: threads });
  const answer = await fetch(`${broken.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim/chat', messages: [{ role: 'user', content: 'x'.repeat(2_000_000) }] }),
  });
  assert.equal(answer.status, 500);
  await broken.said(/RangeError: broken.*src\/inference\/endpoints\/body-worker\.ts:\d+/);
});

test('traces leave by OTLP where a variable of OpenTelemetry names a receiver', async () => {
  await textOf('/v1/chat/completions', { json: { model: 'sim/chat', messages } });
  const [span] = await receiver.when(1, ({ name }) => name === 'POST /v1/chat/completions');
  assert.equal(span!.resource['service.name'], 'packed');
  assert.equal(span!.resource['a.b'], 'c');
  const [attempt] = await receiver.when(1, ({ parentSpanId }) => parentSpanId === span!.spanId);
  assert.equal(attempt!.traceId, span!.traceId);
});

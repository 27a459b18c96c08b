import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { outcomeIn } from '../../src/cli/commands/replay.ts';
import { adminKey, startGateway, testKey } from '../start-gateway.ts';
import { runCommand, temporaryFolder } from '../start-process.ts';
import { startQuietUpstream } from '../steps/quiet-upstream.ts';

const upstream = await startQuietUpstream();
after(upstream.close);
const price = (usd: number) => ({ input: usd, output: usd });
const config = (bodies: string[] | false) => ({
  telemetry: { log: { level: 'silent', bodies } },
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  models: {
    smart: { targets: [{ provider: 'up', model: 'm', price: price(1_000) }] },
    // A kept answer would say neither price nor time of the model.
    cheap: { targets: [{ provider: 'up', model: 'other', price: price(10) }], cache: { ttl: '1h' } },
  },
});

const talk = { model: 'smart', messages: [{ role: 'user', content: 'Remember 17.' }] };

test('kept requests of all formats are asked again at another model, and compared', async (t) => {
  const gateway = await startGateway(t, config(['dev/test']));
  const asked: [string, object][] = [
    ['/v1/chat/completions', talk],
    ['/v1/chat/completions', { ...talk, stream: true, stream_options: { include_usage: true } }],
    ['/v1/messages', { ...talk, max_tokens: 9 }],
    ['/v1/responses', { model: 'smart', input: 'Remember 17.', store: false }],
    ['/v1/chat/completions', { ...talk, model: 'cheap' }],
  ];
  for (const [path, json] of asked) {
    const answer = await gateway.fetch(path, { json });
    const text = await answer.text();
    assert.equal(answer.status, 200, text);
  }
  upstream.bodies.length = 0;
  const env = { CULVERT_ADMIN_KEY: adminKey, CULVERT_API_KEY: testKey };
  const run = (...more: string[]) =>
    runCommand(['replay', '--to', 'cheap', '--model', 'smart', '--url', gateway.url, ...more], {
      cwd: temporaryFolder(t),
      env,
    });
  const { code, stdout, stderr } = await run('--json');
  assert.equal(code, 0, stderr);
  const { totals, data } = JSON.parse(stdout) as { totals: Record<string, never>; data: Record<string, unknown>[] };
  assert.deepEqual([totals.requests, totals.failed, totals.tools_differ, totals.finish_differs], [4, 0, 0, 0], stdout);
  assert.equal(upstream.bodies.length, 4);
  for (const body of upstream.bodies) {
    assert.equal((JSON.parse(body) as { model: string }).model, 'other');
    assert.match(body, /Remember 17/);
  }
  for (const { was, now } of data as { was: { usd: number }; now: { usd: number } }[]) {
    assert.ok(Math.abs(was.usd / now.usd - 100) < 1, `${was.usd} ${now.usd}`);
  }
  const { data: one } = JSON.parse((await run('--json', '--limit', '1')).stdout) as { data: unknown[] };
  assert.equal(one.length, 1);
});

test('a model that fails, or a server that goes away half-way, is a row, and no fallback of the request answers for it', async (t) => {
  let asked = 0;
  const failing = createServer(async (request, response) => {
    for await (const _ of request);
    if (request.method !== 'POST') return void response.writeHead(404).end();
    asked += 1;
    // In turns it refuses, and breaks off.
    if (asked % 2 === 1)
      return void response.writeHead(500, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}');
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '900' }).write('{"choices":');
    setImmediate(() => response.destroy());
  });
  await new Promise<void>((resolve) => failing.listen(0, '127.0.0.1', resolve));
  t.after(() => failing.close());
  const gateway = await startGateway(t, config(['dev/test']));
  for (const content of ['One.', 'Two.', 'Three.']) {
    const json = { ...talk, models: ['smart', 'cheap'], messages: [{ role: 'user', content }] };
    assert.equal((await gateway.fetch('/v1/chat/completions', { json })).status, 200);
  }
  const base = config(['dev/test']);
  const { port } = failing.address() as AddressInfo;
  await gateway.reload({
    ...base,
    providers: { ...base.providers, bad: { type: 'openai', base_url: `http://127.0.0.1:${port}/v1`, api_key: 'k' } },
    models: { ...base.models, cheap: { targets: ['bad/m'] } },
  });
  const { code, stdout, stderr } = await runCommand(['replay', '--to', 'cheap', '--json', '--url', gateway.url], {
    cwd: temporaryFolder(t),
    env: { CULVERT_ADMIN_KEY: adminKey, CULVERT_API_KEY: testKey },
  });
  assert.equal(code, 0, stderr);
  const { totals, data } = JSON.parse(stdout) as { totals: Record<string, number>; data: { error: string | null }[] };
  assert.deepEqual([totals.requests, totals.failed], [3, 3], stdout);
  assert.ok(
    data.every(({ error }) => error !== null),
    stdout,
  );
});

test('without bodies it says what to set up', async (t) => {
  const gateway = await startGateway(t, config(false));
  await (await gateway.fetch('/v1/chat/completions', { json: talk })).text();
  const env = { CULVERT_ADMIN_KEY: adminKey, CULVERT_API_KEY: testKey };
  const run = (to: TestContext, more: Record<string, string>) =>
    runCommand(['replay', '--to', 'cheap', '--url', gateway.url], {
      cwd: temporaryFolder(to),
      env: { ...env, ...more },
    });
  const { code, stderr } = await run(t, {});
  assert.equal(code, 1);
  assert.match(stderr, /None of the 1 conversations in this time has its whole body.*telemetry\.log\.bodies/s);
  assert.match(stderr, /memory of the replica that served them: name each with --url/);
  const keyless = await run(t, { CULVERT_API_KEY: '' });
  assert.match(keyless.stderr, /CULVERT_API_KEY/);
});

test('how an answer ended and which tools it calls are read of every format, whole and streamed', () => {
  const quoted = JSON.stringify('a text with "finish_reason":"length" and "type":"tool_use","name":"x"');
  const chat = `{"choices":[{"message":{"content":${quoted},"tool_calls":[{"function":{"name":"f"}}]},"finish_reason":"tool_calls"}]}`;
  assert.deepEqual(outcomeIn(chat), { finish: 'tool_calls', tools: ['f'] });
  const messages = `{"content":[{"type":"text","text":${quoted}},{"type":"tool_use","id":"1","name":"f"}],"stop_reason":"tool_use"}`;
  assert.deepEqual(outcomeIn(messages), { finish: 'tool_calls', tools: ['f'] });
  const responses =
    '{"status":"completed","output":[{"type":"function_call","id":"i","name":"f","status":"completed"}]}';
  assert.deepEqual(outcomeIn(responses), { finish: 'tool_calls', tools: ['f'] });
  const stream =
    'data: {"choices":[{"delta":{"content":"a"},"finish_reason":null}]}\n\ndata: {"choices":[{"delta":{},"finish_reason":"length"}]}';
  assert.deepEqual(outcomeIn(stream), { finish: 'length', tools: [] });
});

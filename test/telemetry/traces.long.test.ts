import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { pino } from 'pino';
import { levelInWords, timestamp } from '../../src/observe/log.ts';
import { assertWithin } from '../machine-load.ts';
import { otherKey, overUpstreams, startGateway, testKey } from '../start-gateway.ts';
import { startProcess } from '../start-process.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from './otlp-receiver.ts';

const chat = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };
const path = '/v1/chat/completions';
const parent = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };

function traceparent(flags: '00' | '01'): { traceparent: string } {
  return { traceparent: `00-${parent.traceId}-${parent.spanId}-${flags}` };
}

async function upstreams(t: TestContext, count: number): Promise<Upstream[]> {
  const started = await Promise.all(Array.from({ length: count }, () => startUpstream()));
  t.after(() => Promise.all(started.map((one) => one.close())));
  return started;
}

function otlp({ url }: OtlpReceiver, more: Record<string, unknown> = {}) {
  return { telemetry: { otlp: { endpoint: url, ...more } } };
}

/** A log whose lines are kept as objects. */
function keptLog() {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>);
  return { lines, log: pino({ base: null, timestamp, formatters: { level: levelInWords } }, { write }) };
}

function one(spans: readonly ReceivedSpan[], name: string): ReceivedSpan {
  const found = spans.filter((span) => span.name === name);
  assert.equal(found.length, 1, `one span is called ${name}: ${spans.map((span) => span.name).join(', ')}`);
  return found[0]!;
}

test('a chat that falls back is one trace: the request, what was booked, and a span for each attempt', async (t) => {
  const receiver = await startOtlpReceiver(t);
  const [first, second] = await upstreams(t, 2);
  first!.script(path, ['status=500']);
  const gateway = await startGateway(t, { ...overUpstreams(first!.url, second!.url), ...otlp(receiver) });
  const beforeMs = Date.now();
  const headers = { 'x-culvert-session': 'talk-1', 'x-culvert-tag': 'tests', 'x-request-id': 'ticket-7' };
  const answer = await gateway.fetch(path, { json: { ...chat, stream: true, user: 'ann' }, headers });
  assert.match(await answer.text(), /\[DONE\]/);
  const spans = await receiver.when(5);
  const root = one(spans, `POST ${path}`);
  assert.equal(root.parentSpanId, '');
  assert.equal(root.kind, 2);
  assert.deepEqual(root.resource['service.name'], 'culvert');
  assert.deepEqual(root.attributes, {
    'http.request.method': 'POST',
    'http.route': path,
    'http.response.status_code': 200,
    'openinference.span.kind': 'CHAIN',
    'culvert.account': 'dev',
    'culvert.key': 'sk-cv-declared:dev/test',
    'culvert.endpoint': 'chat',
    'culvert.model': 'chat',
    'culvert.target': 'up2/mock/ok',
    'culvert.class': 'ok',
    'culvert.units': 1,
    'culvert.request.id': answer.headers.get('x-culvert-request-id'),
    'culvert.client_request.id': 'ticket-7',
    'user.id': 'ann',
    'culvert.tag': 'tests',
    'session.id': 'talk-1',
  });
  const others = spans.filter((span) => span !== root);
  assert.deepEqual(
    others.map(({ name }) => name),
    ['reserve', 'chat mock/ok', 'chat mock/ok', 'settle'],
  );
  assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, 5);
  for (const span of others) {
    assert.equal(span.traceId, root.traceId);
    assert.equal(span.parentSpanId, root.spanId);
    assert.ok(span.startMs >= root.startMs - 1 && span.endMs <= root.endMs + 1, `${span.name} lies within the request`);
  }
  assert.ok(root.startMs >= beforeMs - 1 && root.endMs <= Date.now() + 1);

  const [failed, answered] = others.filter(({ name }) => name === 'chat mock/ok');
  assert.equal(failed!.kind, 3);
  assert.equal(failed!.status, 2);
  assert.match(failed!.message, /answered 500/);
  assert.deepEqual(failed!.attributes, {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'mock/ok',
    'gen_ai.request.stream': true,
    'gen_ai.conversation.id': 'talk-1',
    'server.address': '127.0.0.1',
    'server.port': Number(new URL(first!.url).port),
    'http.response.status_code': 500,
    'error.type': 'transient',
    'openinference.span.kind': 'LLM',
    'culvert.endpoint': 'chat',
    'culvert.provider': 'up1',
    'culvert.credential': 'up1#0',
    'culvert.attempt': 1,
    'culvert.usage.source': 'none',
  });
  const { 'gen_ai.response.time_to_first_chunk': firstChunk, ...told } = answered!.attributes;
  assert.ok(
    typeof firstChunk === 'number' && firstChunk > 0 && firstChunk < 10,
    `${firstChunk} s to the first content`,
  );
  assert.equal(answered!.status, 0);
  assert.equal(told['gen_ai.response.model'], 'mock/ok');
  assert.deepEqual(told['gen_ai.response.finish_reasons'], ['stop']);
  assert.equal(told['gen_ai.usage.input_tokens'], 9);
  assert.equal(told['gen_ai.usage.output_tokens'], 5);
  assert.equal(told['culvert.attempt'], 2);
  assert.ok(failed!.endMs <= answered!.startMs + 1);
});

const answers = [
  ['openai', 'openai-chat', path, 'stop'],
  ['anthropic', 'anthropic-messages', '/v1/messages', 'stop'],
  ['gemini', 'gemini', '/v1beta/models/chat:generateContent', 'stop'],
  ['openai', 'openai-responses', '/v1/responses', 'stop'],
] as const;

for (const [type, dialect, asked, finish] of answers) {
  test(`the model that answered and why it ended are read of ${dialect}, passed on whole and as a stream, and converted`, async (t) => {
    const receiver = await startOtlpReceiver(t);
    const [upstream] = await upstreams(t, 1);
    const provider = {
      type,
      base_url: upstream!.url + (type === 'gemini' ? '' : '/v1'),
      api_key: 'k',
      dialects: [dialect],
    };
    const gateway = await startGateway(t, {
      providers: { up: provider },
      models: { chat: { targets: ['up/mock/ok'] } },
      ...otlp(receiver),
    });
    const text = 'Hello';
    const own = {
      'openai-chat': chat,
      'anthropic-messages': { ...chat, max_tokens: 50 },
      gemini: { contents: [{ role: 'user', parts: [{ text }] }] },
      'openai-responses': { model: 'chat', input: text },
    }[dialect];
    const streamed = dialect === 'gemini' ? asked.replace('generate', 'streamGenerate').concat('?alt=sse') : asked;
    const converted = dialect === 'openai-chat' ? '/v1/messages' : path;
    for (const [to, json] of [
      [asked, own],
      [streamed, { ...own, ...(dialect !== 'gemini' && { stream: true }) }],
      [converted, { ...chat, max_tokens: 50 }],
    ] as const) {
      const answer = await gateway.fetch(to, { json });
      assert.equal(answer.status, 200, await answer.text());
    }
    const attempts = await receiver.when(3, ({ name }) => name === 'chat mock/ok');
    for (const { attributes } of attempts) {
      assert.equal(attributes['gen_ai.response.model'], 'mock/ok');
      assert.deepEqual(attributes['gen_ai.response.finish_reasons'], [finish]);
    }
  });
}

test('a span of a request names its variant and its prompt', async (t) => {
  const receiver = await startOtlpReceiver(t);
  const [up] = await upstreams(t, 1);
  const gateway = await startGateway(t, {
    ...otlp(receiver),
    providers: { up: { type: 'openai', base_url: `${up!.url}/v1`, api_key: 'k' } },
    models: { chat: { targets: ['up/mock/ok'], variants: { b: { weight: 1 } } } },
    prompts: { kind: { versions: { 2: { model: 'chat', messages: [{ role: 'system', content: 'Be kind.' }] } } } },
  });
  await (await gateway.fetch(path, { json: { ...chat, model: 'prompt/kind' } })).text();
  const root = one(await receiver.when(4), `POST ${path}`);
  assert.equal(root.attributes['culvert.variant'], 'b');
  assert.equal(root.attributes['culvert.prompt'], 'kind@2');
});

test("the caller's trace goes on, with its state, as far as it is recorded", async (t) => {
  const receiver = await startOtlpReceiver(t);
  const [upstream] = await upstreams(t, 1);
  // The caller's trace wins over the ratio.
  const gateway = await startGateway(t, { ...overUpstreams(upstream!.url), ...otlp(receiver, { sample: 0 }) });
  const headers = { ...traceparent('01'), tracestate: 'vendor=a,other=b' };
  await (await gateway.fetch(path, { json: chat, headers })).text();
  await (await gateway.fetch(path, { json: chat, headers: traceparent('00') })).text();
  await (await gateway.fetch(path, { json: chat })).text();
  await (await gateway.fetch(path, { json: chat, headers: { traceparent: 'no such thing' } })).text();
  await gateway.close(1_000);
  const spans = receiver.spans();
  assert.equal(spans.length, 4);
  const root = one(spans, `POST ${path}`);
  assert.equal(root.parentSpanId, parent.spanId);
  assert.equal(root.flags & 0x300, 0x300, 'its parent is another process’s');
  for (const span of spans) {
    assert.equal(span.traceId, parent.traceId);
    assert.equal(span.traceState, 'vendor=a,other=b');
  }
});

test('an upstream of our own goes on with the trace under the attempt, a stranger is told nothing', async (t) => {
  const receiver = await startOtlpReceiver(t);
  const [stranger] = await upstreams(t, 1);
  const inner = await startGateway(t, { ...overUpstreams(stranger!.url), ...otlp(receiver) });
  const outer = await startGateway(t, {
    providers: { inner: { type: 'openai', base_url: `${inner.url}/v1`, api_key: testKey } },
    models: { chat: { targets: ['inner/chat'] } },
    ...otlp(receiver),
  });
  await (await outer.fetch(path, { json: chat, headers: traceparent('01') })).text();
  const spans = await receiver.when(8, ({ traceId }) => traceId === parent.traceId);
  const called = one(spans, 'chat chat');
  const [asked, passed] = ['', called.spanId].map((from) =>
    spans.find(
      (span) => span.kind === 2 && (from === '' ? span.parentSpanId === parent.spanId : span.parentSpanId === from),
    ),
  );
  assert.equal(called.parentSpanId, asked?.spanId);
  assert.equal(one(spans, 'chat mock/ok').parentSpanId, passed?.spanId);
  const names = stranger!.requests().flatMap(({ headers }) => Object.keys(headers));
  assert.ok(names.includes('authorization'), 'it sees the headers');
  assert.ok(!names.includes('traceparent') && !names.includes('tracestate'));
});

test('without a receiver a trace is passed on as it came, to whom the configuration says', async (t) => {
  const [stranger, own] = await upstreams(t, 2);
  const { providers, models } = overUpstreams(stranger!.url, own!.url) as {
    providers: Record<string, object>;
    models: object;
  };
  providers.up2 = { ...providers.up2, trace: true };
  const gateway = await startGateway(t, { providers, models });
  stranger!.script(path, ['status=500']);
  const headers = { ...traceparent('01'), tracestate: 'a=b' };
  await (await gateway.fetch(path, { json: chat, headers })).text();
  const sent = (upstream: Upstream) => upstream.requests().find((request) => request.path === path)!.headers;
  assert.equal(sent(own!).traceparent, headers.traceparent);
  assert.equal(sent(own!).tracestate, headers.tracestate);
  assert.equal(sent(stranger!).traceparent, undefined);
});

test('a line of the log names the trace, and so does the head of an error; a refused request is a span too', async (t) => {
  const receiver = await startOtlpReceiver(t);
  const [upstream] = await upstreams(t, 1);
  const { log, lines } = keptLog();
  const gateway = await startGateway(t, { ...overUpstreams(upstream!.url), ...otlp(receiver) }, { log });
  const headers = traceparent('01');
  const answered = await gateway.fetch(path, { json: chat, headers });
  await answered.text();
  assert.equal(answered.headers.get('x-culvert-trace-id'), null);
  const refused = await gateway.fetch(path, { json: { ...chat, model: 'nobody' }, headers });
  assert.equal(refused.status, 404);
  assert.equal(refused.headers.get('x-culvert-trace-id'), parent.traceId);
  for (const message of ['request', 'refused']) {
    assert.equal(lines.find(({ msg }) => msg === message)?.trace_id, parent.traceId);
  }
  const [span] = await receiver.when(1, ({ attributes }) => attributes['http.response.status_code'] === 404);
  assert.equal(span!.attributes['error.type'], 'model-unknown');
  assert.equal(span!.status, 0, 'the caller is wrong, not this server');
});

test('texts of the vector store and pages of a crawl have their spans', async (t) => {
  const receiver = await startOtlpReceiver(t);
  const site = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(
      `<html><head><title>Bread</title></head><body><main><p>${'Bread is made of flour. '.repeat(20)}</p></main></body></html>`,
    );
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  t.after(() => new Promise((resolve) => site.close(resolve)));
  const page = `http://127.0.0.1:${(site.address() as AddressInfo).port}/bread`;
  const gateway = await startGateway(t, { fetch: { allow_private: [new URL(page).host] }, ...otlp(receiver) });
  const collection = { name: 'docs', embedding_model: 'culvert-lexical-1024' };
  await (await gateway.fetch('/v1/vectors/collections', { json: collection })).text();
  const points = [{ id: 1, payload: { text: 'Bread is made of flour.' } }];
  const stored = await gateway.fetch('/v1/vectors/collections/docs/points', { json: { points } });
  assert.equal(stored.status, 200, await stored.text());
  const [embedded] = await receiver.when(1, ({ name }) => name === 'embeddings culvert-lexical-1024');
  assert.equal(embedded!.kind, 1, 'it runs in this process');
  assert.equal(embedded!.attributes['gen_ai.operation.name'], 'embeddings');
  assert.equal(embedded!.attributes['openinference.span.kind'], 'EMBEDDING');
  const [call] = await receiver.when(1, ({ spanId }) => spanId === embedded!.parentSpanId);
  assert.equal(call!.attributes['http.route'], '/v1/vectors/collections/:collection/points');

  const crawl = await gateway.fetch('/v1/tools/crawl', {
    json: { url: `${page}?token=secret-in-url`, limit: 1, collection: 'docs' },
  });
  assert.ok(crawl.status < 300, await crawl.text());
  const [crawled] = await receiver.when(1, ({ name }) => name === 'crawl page');
  assert.equal(crawled!.attributes['url.full'], page);
  assert.equal(crawled!.attributes['culvert.account'], 'dev');
  const steps = await receiver.when(2, ({ parentSpanId }) => parentSpanId === crawled!.spanId);
  assert.deepEqual(
    steps.map(({ name }) => name),
    ['reserve', 'settle'],
  );
  assert.ok(!JSON.stringify(receiver.spans()).includes('secret-in-url'));
});

test('a notice is a trace that names its receiver, not the path, which may be a secret', async (t) => {
  const receiver = await startOtlpReceiver(t);
  const [upstream, hook] = await upstreams(t, 2);
  const webhook = `${hook!.url}/hooks/secret-path`;
  const gateway = await startGateway(t, {
    ...overUpstreams(upstream!.url),
    ...otlp(receiver),
    plans: { default: { windows: { '5h': 2 }, notify: { webhook, secret: 'x'.repeat(32), at: [0.5] } } },
  });
  await (await gateway.fetch(path, { json: chat })).text();
  const [notice] = await receiver.when(1, ({ name }) => name === 'webhook');
  assert.equal(notice!.attributes['url.full'], hook!.url);
  assert.ok(!JSON.stringify(receiver.spans()).includes('secret-path'));
});

test('no key of anybody stands in what is sent, and headers of the configuration go to the receiver', async (t) => {
  const receiver = await startOtlpReceiver(t);
  const [first, second] = await upstreams(t, 2);
  first!.script(path, ['always status=401']);
  const headers = { authorization: 'Bearer receiver-secret', 'x-scope-orgid': 'team' };
  const gateway = await startGateway(t, { ...overUpstreams(first!.url, second!.url), ...otlp(receiver, { headers }) });
  await (await gateway.fetch(path, { json: chat })).text();
  await (await gateway.fetch(path, { json: chat, headers: { authorization: 'Bearer sk-cv-nobody-0001' } })).text();
  await gateway.close(1_000);
  assert.ok(
    receiver
      .headers()
      .every((sent) => sent.authorization === headers.authorization && sent['x-scope-orgid'] === 'team'),
  );
  assert.ok(receiver.spans().length >= 5 && receiver.points().length > 0);
  const sent = JSON.stringify([receiver.spans(), receiver.points()]);
  for (const secret of ['upstream-secret', testKey, 'sk-cv-nobody', 'receiver-secret', 'Hello']) {
    assert.ok(!sent.includes(secret), secret);
  }
});

const answeredBy = (span: ReceivedSpan | undefined) => JSON.parse(String(span?.attributes['gen_ai.output.messages']));

for (const { to, dialect } of [
  { to: path, dialect: 'openai-chat' },
  { to: '/v1/messages', dialect: 'anthropic-messages' },
]) {
  test(`messages of keys that allow it, and of no other, stand in the span that answered: ${dialect}`, async (t) => {
    const receiver = await startOtlpReceiver(t);
    const [upstream] = await upstreams(t, 1);
    const gateway = await startGateway(t, {
      ...overUpstreams(upstream!.url),
      ...otlp(receiver, { content: ['dev/test'] }),
    });
    const messages = [{ role: 'user', content: 'Hello, my api_key is sk-proj-abcdefghijklmnop1234' }];
    for (const stream of [false, true]) {
      const json = { model: 'chat', max_tokens: 50, messages, stream };
      await (await gateway.fetch(to, { json })).text();
      const other = { headers: { authorization: `Bearer ${otherKey}` } };
      await (await gateway.fetch(to, { json, ...other })).text();
    }
    const spans = await receiver.when(4, ({ name }) => name === 'chat mock/ok');
    const captured = spans.filter(({ attributes }) => attributes['gen_ai.input.messages'] !== undefined);
    assert.equal(captured.length, 2);
    for (const span of captured) {
      const asked = JSON.parse(String(span.attributes['gen_ai.input.messages']));
      assert.deepEqual(asked, [
        { role: 'user', parts: [{ type: 'text', content: 'Hello, my api_key is [redacted]' }] },
      ]);
      const [message] = answeredBy(span);
      assert.equal(message.role, 'assistant');
      assert.equal(message.finish_reason, 'stop');
      assert.match(message.parts[0].content, /^Mock answer to: Hello/);
    }
  });
}

test('a tool call stands in the content of a span as the conventions have it', async (t) => {
  const receiver = await startOtlpReceiver(t);
  const [upstream] = await upstreams(t, 1);
  const gateway = await startGateway(t, {
    ...overUpstreams(upstream!.url),
    ...otlp(receiver, { content: ['dev/test'] }),
  });
  const tools = [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } }];
  await (await gateway.fetch(path, { json: { ...chat, tools, tool_choice: 'required' } })).text();
  const [span] = await receiver.when(1, ({ name }) => name === 'chat mock/ok');
  const [message] = answeredBy(span);
  const call = message.parts.find(({ type }: { type: string }) => type === 'tool_call');
  assert.equal(call.name, 'get_weather');
  assert.equal(typeof call.arguments, 'object');
  assert.equal(message.finish_reason, 'tool_calls');
});

test('a receiver that is gone holds nobody up, is told of once, and what comes later is sent when it is back', async (t) => {
  const receiver = await startOtlpReceiver(t);
  receiver.answer(400);
  const [upstream] = await upstreams(t, 1);
  const { log, lines } = keptLog();
  const gateway = await startGateway(t, { ...overUpstreams(upstream!.url), ...otlp(receiver) }, { log });
  const told = (word: RegExp) => lines.filter(({ msg }) => word.test(String(msg)));
  for (let round = 0; round < 3; round += 1) {
    const answer = await gateway.fetch(path, { json: chat });
    assert.equal(answer.status, 200, await answer.text());
    await wait(1_100);
  }
  assert.equal(told(/traces cannot be sent/).length, 1);
  receiver.answer(200);
  await (await gateway.fetch(path, { json: chat })).text();
  await receiver.when(4);
  await wait(100);
  assert.deepEqual(told(/are sent .* again; 12 spans were lost/).length, 1);
});

test('a receiver that does not answer keeps a shutdown no longer than it may', async (t) => {
  const receiver = await startOtlpReceiver(t);
  receiver.answer(0);
  const [upstream] = await upstreams(t, 1);
  const gateway = await startGateway(t, { ...overUpstreams(upstream!.url), ...otlp(receiver) });
  await (await gateway.fetch(path, { json: chat })).text();
  const beganMs = performance.now();
  await gateway.close(1_000);
  assertWithin(performance.now() - beganMs, 4_000);
});

test('a process whose receiver does not answer ends, however long its calls may take', async (t) => {
  const receiver = await startOtlpReceiver(t);
  receiver.answer(0);
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_EXPORTER_OTLP_TIMEOUT: '120000' };
  const server = await startProcess(t, { env });
  await (await fetch(`${server.url}/v1/models`)).text();
  const beganMs = performance.now();
  assert.deepEqual(await server.stop(), { code: 0, signal: null });
  assertWithin(performance.now() - beganMs, 60_000);
});

test('metrics of the conventions count every attempt, sampled or not', async (t) => {
  const receiver = await startOtlpReceiver(t);
  const [first, second] = await upstreams(t, 2);
  first!.script(path, ['status=500']);
  const gateway = await startGateway(t, {
    ...overUpstreams(first!.url, second!.url),
    ...otlp(receiver, { sample: 0 }),
  });
  for (const stream of [true, false, true]) await (await gateway.fetch(path, { json: { ...chat, stream } })).text();
  await gateway.close(1_000);
  assert.equal(receiver.spans().length, 0);
  const points = receiver.points();
  const of = (metric: string) => points.filter((point) => point.metric === metric);
  const [failed, ...answered] = of('gen_ai.client.operation.duration').toSorted((a) =>
    a.attributes['error.type'] === undefined ? 1 : -1,
  );
  assert.equal(failed!.attributes['error.type'], 'transient');
  assert.equal(failed!.count, 1);
  assert.equal(
    answered.reduce((sum, { count }) => sum + count, 0),
    3,
  );
  const [duration] = answered;
  assert.equal(duration!.unit, 's');
  assert.equal(duration!.attributes['gen_ai.provider.name'], 'openai');
  assert.deepEqual(duration!.bounds.slice(0, 3), [0.01, 0.02, 0.04]);
  assert.equal(
    duration!.counts.reduce((sum, count) => sum + count, 0),
    duration!.count,
  );
  for (const [type, sum] of [
    ['input', 27],
    ['output', 15],
  ] as const) {
    const told = of('gen_ai.client.token.usage').filter(({ attributes }) => attributes['gen_ai.token.type'] === type);
    assert.equal(
      told.reduce((all, point) => all + point.sum, 0),
      sum,
    );
  }
  const streams = of('gen_ai.client.operation.time_to_first_chunk');
  assert.equal(
    streams.reduce((sum, { count }) => sum + count, 0),
    2,
  );
});

test('variables of OpenTelemetry name a receiver for each signal; what is no address, or no protocol of ours, is told', async (t) => {
  const receiver = await startOtlpReceiver(t);
  const [upstream] = await upstreams(t, 1);
  const { log, lines } = keptLog();
  const told = (word: RegExp) => lines.filter(({ msg }) => word.test(String(msg))).length;
  async function sent(env: Record<string, string>): Promise<{ spans: boolean; points: boolean }> {
    const before = { spans: receiver.spans().length, points: receiver.points().length };
    // The exporters read their own environment.
    Object.assign(process.env, env);
    const gateway = await startGateway(t, overUpstreams(upstream!.url), { log, env });
    await (await gateway.fetch(path, { json: chat })).text();
    await gateway.close(1_000);
    for (const name of Object.keys(env)) delete process.env[name];
    return { spans: receiver.spans().length > before.spans, points: receiver.points().length > before.points };
  }
  assert.deepEqual(await sent({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }), { spans: true, points: true });
  assert.deepEqual(await sent({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_METRICS_EXPORTER: 'none' }), {
    spans: true,
    points: false,
  });
  assert.deepEqual(await sent({ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${receiver.url}/v1/metrics` }), {
    spans: false,
    points: true,
  });
  assert.equal(lines.length, lines.filter(({ level }) => level === 'info').length, JSON.stringify(lines));
  const nowhere = { OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4318' };
  assert.deepEqual(await sent(nowhere), { spans: false, points: false });
  assert.equal(told(/OTEL_EXPORTER_OTLP_ENDPOINT is not a URL such as .*, so no traces are sent/), 1);
  const grpc = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
  assert.deepEqual(await sent(grpc), { spans: true, points: true });
  assert.equal(told(/OTEL_EXPORTER_OTLP_PROTOCOL is grpc, but Culvert sends http\/protobuf/), 1);
  receiver.answer(400);
  await sent({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
  assert.equal(told(/metrics cannot be sent to http:\S+\/v1\/metrics: /), 1);
});

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { pino } from 'pino';
import { checkConfigText } from '../../src/config/check.ts';
import { formatProblem } from '../../src/config/problem.ts';
import { loggerForm, type NamedLogger } from '../../src/observe/otlp/logger-forms.ts';
import { listening } from '../listening.ts';
import { adminKey, overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { heliconeForm, startLogReceiver } from './log-receiver.ts';
import { startOtlpReceiver } from './otlp-receiver.ts';

/* Loggers by name: each gets the spans at its own path, with its own proof and by OpenTelemetry's published schema. */

const upstream = await startUpstream();
after(() => upstream.close());

const settings: readonly Omit<NamedLogger, 'headers'>[] = [
  { type: 'langfuse', public_key: 'pk-1', api_key: 'sk-logger-1' },
  { type: 'datadog', api_key: 'sk-logger-2' },
  { type: 'braintrust', api_key: 'sk-logger-3', project: 'gateway' },
  { type: 'arize', api_key: 'sk-logger-4', space: 'space-1', project: 'gateway' },
  { type: 'mlflow', api_key: 'sk-logger-5', experiment: '7' },
  { type: 'wandb', api_key: 'sk-logger-6', entity: 'team', project: 'gateway' },
];

const wanted: Readonly<Record<string, { path: string; headers: Record<string, string> }>> = {
  langfuse: {
    path: '/api/public/otel/v1/traces',
    headers: { authorization: `Basic ${Buffer.from('pk-1:sk-logger-1').toString('base64')}` },
  },
  datadog: { path: '/v1/traces', headers: { 'dd-api-key': 'sk-logger-2', 'dd-otlp-source': 'datadog' } },
  braintrust: {
    path: '/otel/v1/traces',
    headers: { authorization: 'Bearer sk-logger-3', 'x-bt-parent': 'project_name:gateway' },
  },
  arize: { path: '/v1/traces', headers: { space_id: 'space-1', api_key: 'sk-logger-4' } },
  mlflow: { path: '/v1/traces', headers: { 'x-mlflow-experiment-id': '7', authorization: 'Bearer sk-logger-5' } },
  wandb: { path: '/otel/v1/traces', headers: { 'wandb-api-key': 'sk-logger-6', project_id: 'team/gateway' } },
};

test('each logger gets the spans of a request in its own form, and one that is gone holds neither requests nor others', async (t) => {
  const receivers = await Promise.all(settings.map(() => startOtlpReceiver(t)));
  const gone = { type: 'mlflow', name: 'gone', url: 'http://127.0.0.1:9', experiment: '1' };
  const loggers = [gone, ...settings.map((one, at) => ({ ...one, url: receivers[at]!.url }))];
  const gateway = await startGateway(t, { ...overUpstreams(upstream.url), telemetry: { loggers } });
  const json = { model: 'chat', messages: [{ role: 'user', content: 'Said by Ann.' }] };
  assert.equal((await gateway.fetch('/v1/chat/completions', { json })).status, 200);
  for (const [at, receiver] of receivers.entries()) {
    const { type } = settings[at]!;
    const spans = await receiver.when(3);
    const attempt = spans.find(({ name }) => name === 'chat mock/ok');
    assert.equal(attempt?.attributes['gen_ai.request.model'], 'mock/ok', type);
    assert.equal(attempt?.attributes['gen_ai.operation.name'], 'chat');
    assert.equal(typeof attempt?.attributes['gen_ai.usage.input_tokens'], 'number');
    assert.equal(attempt?.attributes['openinference.span.kind'], 'LLM');
    const { path, headers } = wanted[type]!;
    assert.equal(receiver.paths()[0], path);
    for (const [name, value] of Object.entries(headers))
      assert.equal(receiver.headers()[0]?.[name], value, `${type} ${name}`);
    assert.equal(attempt?.resource['openinference.project.name'], 'gateway');
    assert.equal(attempt?.resource['wandb.entity'], 'team');
    assert.ok(!JSON.stringify(spans).includes('Ann'), 'no text leaves unless telemetry.otlp.content says so');
  }
  const shown = await (
    await fetch(`${gateway.url}/admin/v1/config`, { headers: { authorization: `Bearer ${adminKey}` } })
  ).text();
  assert.match(shown, /langfuse/);
  assert.doesNotMatch(shown, /sk-logger/);
});

const helicone = (url: string) => ({ type: 'helicone', api_key: 'sk-helicone-1', url });

test("Helicone gets a custom log of each attempt in its documentation's form, with user, session and account", async (t) => {
  const receiver = await startLogReceiver(t);
  const telemetry = { loggers: [helicone(receiver.url)], otlp: { content: ['dev/test'] } };
  const gateway = await startGateway(t, { ...overUpstreams(upstream.url), telemetry });
  const json = { model: 'chat', user: 'ann', messages: [{ role: 'user', content: 'Said by Ann.' }] };
  const headers = { 'x-session-id': 'talk-1' };
  assert.equal((await gateway.fetch('/v1/chat/completions', { json, headers })).status, 200);
  const stream = await gateway.fetch('/v1/chat/completions', { json: { ...json, stream: true } });
  await stream.text();
  upstream.script('/v1/chat/completions', ['status=400']);
  await gateway.fetch('/v1/chat/completions', { json });
  await until('three logs came', () => receiver.logs.length >= 3);
  for (const { path, authorization, body } of receiver.logs) {
    assert.equal(path, '/custom/v1/log');
    assert.equal(authorization, 'Bearer sk-helicone-1');
    heliconeForm.parse(body);
  }
  const logs = receiver.logs.map(({ body }) => heliconeForm.parse(body));
  assert.equal(logs.length, 3);
  // Each worker sends its own.
  const streamed = logs.find(({ providerRequest }) => providerRequest.json.stream === true);
  const failed = logs.find(({ providerResponse }) => providerResponse.status === 400);
  const whole = logs.find((one) => one !== streamed && one !== failed);
  assert.deepEqual(whole!.providerRequest.json, { model: 'mock/ok', messages: json.messages });
  const { meta } = whole!.providerRequest;
  assert.equal(meta['Helicone-User-Id'], 'ann');
  assert.equal(meta['Helicone-Session-Id'], 'talk-1');
  assert.equal(meta['Helicone-Property-Account'], 'dev');
  assert.equal(whole!.providerResponse.status, 200);
  const { usage, choices } = whole!.providerResponse.json;
  assert.ok(usage!.prompt_tokens > 0 && usage!.total_tokens === usage!.prompt_tokens + usage!.completion_tokens);
  assert.equal(choices?.[0]?.message.role, 'assistant');
  assert.equal(choices?.[0]?.finish_reason, 'stop');
  assert.equal(streamed!.providerRequest.json.stream, true);
  assert.ok((streamed!.timing.timeToFirstToken ?? -1) >= 0);
  assert.equal(failed!.providerResponse.status, 400);
  assert.equal(failed!.providerResponse.json.usage, undefined);
  const began = whole!.timing.startTime.seconds * 1_000 + whole!.timing.startTime.milliseconds;
  assert.ok(Math.abs(Date.now() - began) < 120_000);
});

test('Helicone gets no text that no key allows, and one that refuses is in the log without its key', async (t) => {
  const receiver = await startLogReceiver(t);
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => lines.push(line) });
  const telemetry = { loggers: [helicone(receiver.url)] };
  const gateway = await startGateway(t, { ...overUpstreams(upstream.url), telemetry }, { log });
  const json = { model: 'chat', messages: [{ role: 'user', content: 'Said by Ann.' }] };
  await gateway.fetch('/v1/chat/completions', { json });
  await until('a log came', () => receiver.logs.length > 0);
  assert.doesNotMatch(JSON.stringify(receiver.logs), /Said by Ann/);
  receiver.answer(401);
  await gateway.fetch('/v1/chat/completions', { json });
  await until('the operator is told', () => /cannot be sent to the logger 'helicone'/.test(lines.join('')));
  assert.doesNotMatch(lines.join(''), /sk-helicone/);
  await (await gateway.fetch('/v1/models')).text();
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  assert.doesNotMatch(
    lines.join(''),
    /helicone' again/,
    'a batch without a call of a model says nothing of the service',
  );
  receiver.answer(200);
  await gateway.fetch('/v1/chat/completions', { json });
  const times = (words: RegExp) => lines.filter((line) => words.test(line)).length;
  await until('it goes on', () => times(/sent to the logger 'helicone' again/) === 1);
  await gateway.fetch('/v1/chat/completions', { json });
  await until('the next log came', () => receiver.logs.length > 2);
  receiver.answer(401);
  await gateway.fetch('/v1/chat/completions', { json });
  await until('the next loss is told too', () => times(/cannot be sent to the logger 'helicone'/) === 2);
  assert.equal(times(/helicone' again/), 1);
});

test('texts are in the spans of the keys that the operator names', async (t) => {
  const receiver = await startOtlpReceiver(t);
  const loggers = [{ type: 'langfuse', public_key: 'pk', api_key: 'sk', url: receiver.url }];
  const telemetry = { loggers, otlp: { content: ['dev/test'] } };
  const gateway = await startGateway(t, { ...overUpstreams(upstream.url), telemetry });
  const json = { model: 'chat', messages: [{ role: 'user', content: 'Said by Ann.' }] };
  await gateway.fetch('/v1/chat/completions', { json });
  await until('the texts arrived', () =>
    receiver.spans().some(({ attributes }) => String(attributes['gen_ai.input.messages']).includes('Said by Ann.')),
  );
});

test('without an own address each service has its documented one, and further headers take precedence', () => {
  const urls = settings.filter(({ type }) => type !== 'mlflow').map((one) => loggerForm({ ...one, headers: {} }).url);
  assert.deepEqual(urls, [
    'https://cloud.langfuse.com/api/public/otel/v1/traces',
    'https://otlp.datadoghq.com/v1/traces',
    'https://api.braintrust.dev/otel/v1/traces',
    'https://otlp.arize.com/v1/traces',
    'https://trace.wandb.ai/otel/v1/traces',
  ]);
  const { url, takes } = loggerForm({ type: 'helicone', api_key: 'k', headers: {} });
  assert.deepEqual([url, takes], ['https://api.worker.helicone.ai/custom/v1/log', 'helicone']);
  const own = loggerForm({
    type: 'datadog',
    api_key: 'k',
    site: 'datadoghq.eu',
    headers: { 'dd-otlp-source': 'mine' },
  });
  assert.equal(own.url, 'https://otlp.datadoghq.eu/v1/traces');
  assert.equal(own.headers['dd-otlp-source'], 'mine');
});

test('a logger that lacks a setting, or has one of another service, is refused with its place', () => {
  const loggers = [
    { type: 'langfuse', api_key: 'k' },
    { type: 'mlflow', experiment: '1' },
    { type: 'datadog', api_key: 'k', project: 'p' },
    { type: 'nobody' },
  ];
  const checked = checkConfigText(JSON.stringify({ telemetry: { loggers } }), 'culvert.yaml', {});
  assert.ok(!checked.ok);
  const said = checked.errors.map(formatProblem).join('\n');
  for (const place of [
    /loggers\[0\]\.public_key: /,
    /loggers\[1\]\.url: /,
    /loggers\[2\]\.project: datadog has no such setting/,
    /loggers\[3\]\.type: /,
  ])
    assert.match(said, place);
});

test('the span of an attempt has the tokens that were read from a cache of the provider, and written to it', async (t) => {
  const answer = { role: 'assistant', content: 'Hi' };
  const usage = {
    prompt_tokens: 9,
    completion_tokens: 4,
    total_tokens: 13,
    prompt_tokens_details: { cached_tokens: 2, cache_write_tokens: 3 },
    completion_tokens_details: { reasoning_tokens: 1 },
  };
  const choices = [{ index: 0, message: answer, finish_reason: 'stop' }];
  const provider = createServer((_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices, usage }));
  });
  const url = await listening(t, provider);
  const receiver = await startOtlpReceiver(t);
  const loggers = [{ type: 'mlflow', url: receiver.url, experiment: '7' }];
  const gateway = await startGateway(t, { ...overUpstreams(url), telemetry: { loggers } });
  const json = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };
  assert.equal((await gateway.fetch('/v1/chat/completions', { json })).status, 200);
  const attempt = (await receiver.when(3)).find(({ name }) => name === 'chat mock/ok');
  const counts = Object.entries(attempt?.attributes ?? {}).filter(([name]) => name.startsWith('gen_ai.usage.'));
  assert.deepEqual(Object.fromEntries(counts), {
    'gen_ai.usage.input_tokens': 9,
    'gen_ai.usage.output_tokens': 4,
    'gen_ai.usage.cache_read.input_tokens': 2,
    'gen_ai.usage.cache_creation.input_tokens': 3,
    'gen_ai.usage.reasoning.output_tokens': 1,
  });
});

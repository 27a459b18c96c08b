import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { overUpstreams, startGateway } from '../start-gateway.ts';
import { closedPort } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { type OtlpReceiver, startOtlpReceiver } from './otlp-receiver.ts';

const program = fileURLToPath(new URL('../../.test-tools/bin/otelcol', import.meta.url));
const skip = existsSync(program) ? false : 'the collector is not installed (npm run setup:test-tools)';

/** OpenTelemetry's own collector on loopback, which passes its understanding on as JSON; gone after the test. */
async function startCollector(t: TestContext, receiver: OtlpReceiver): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'culvert-test-'));
  const port = await closedPort();
  const config = join(folder, 'collector.yaml');
  writeFileSync(
    config,
    `receivers: { otlp: { protocols: { http: { endpoint: "127.0.0.1:${port}" } } } }
exporters: { otlp_http: { endpoint: "${receiver.url}", encoding: json, compression: none } }
service:
  telemetry: { metrics: { level: none }, logs: { level: error } }
  pipelines:
    traces: { receivers: [otlp], exporters: [otlp_http] }
    metrics: { receivers: [otlp], exporters: [otlp_http] }
`,
  );
  const child = spawn(program, ['--config', `file:${config}`], { stdio: ['ignore', 'inherit', 'inherit'] });
  const gone = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await gone;
    rmSync(folder, { recursive: true, force: true });
  });
  while (!(await listens(port))) {
    if (child.exitCode !== null) throw new Error(`the collector ended with ${child.exitCode}`);
    await wait(50);
  }
  return `http://127.0.0.1:${port}`;
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

test("OpenTelemetry's own collector understands traces and metrics", { skip }, async (t) => {
  const receiver = await startOtlpReceiver(t);
  const endpoint = await startCollector(t, receiver);
  const upstreams = await Promise.all([startUpstream(), startUpstream()]);
  t.after(() => Promise.all(upstreams.map((one) => one.close())));
  const [first, second] = upstreams;
  first!.script('/v1/chat/completions', ['status=500']);
  const gateway = await startGateway(t, {
    ...overUpstreams(first!.url, second!.url),
    telemetry: { otlp: { endpoint, content: ['dev/test'] } },
  });
  const text = `${'ü'.repeat(30_000)} 東京`;
  const askedMs = Date.now();
  const json = { model: 'chat', stream: true, user: 'Jürgen', messages: [{ role: 'user', content: text }] };
  await (await gateway.fetch('/v1/chat/completions', { json })).text();
  await gateway.close(1_000);
  const spans = await receiver.when(5);
  const root = spans.find(({ kind }) => kind === 2)!;
  assert.equal(root.name, 'POST /v1/chat/completions');
  assert.equal(root.attributes['user.id'], 'Jürgen');
  assert.equal(root.resource['service.name'], 'culvert');
  // They may arrive in two messages, in any order.
  const calls = spans.filter(({ name }) => name === 'chat mock/ok');
  const [failed, answered] = calls.sort((a, b) => a.startMs - b.startMs);
  for (const span of [failed!, answered!]) {
    assert.equal(span.traceId, root.traceId);
    assert.equal(span.parentSpanId, root.spanId);
    assert.ok(span.startMs >= askedMs && span.endMs <= Date.now());
  }
  assert.equal(failed!.status, 2);
  assert.equal(failed!.attributes['http.response.status_code'], 500);
  assert.deepEqual(answered!.attributes['gen_ai.response.finish_reasons'], ['stop']);
  assert.equal(typeof answered!.attributes['gen_ai.response.time_to_first_chunk'], 'number');
  const [asked] = JSON.parse(String(answered!.attributes['gen_ai.input.messages']));
  assert.equal(asked.parts[0].content, text);
  const durations = () => receiver.points().filter(({ metric }) => metric === 'gen_ai.client.operation.duration');
  await until('the durations of both attempts', () => durations().length === 2);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics, type MeasuredRequest, seriesCellsMax } from './metrics.ts';

type Labelled = MeasuredRequest & { model: string; target: string };

const request: Labelled = {
  endpoint: 'chat',
  model: 'smart',
  target: 'up/model',
  status: 200,
  class: 'ok',
  ms: 300,
  firstTokenMs: 50,
  inputTokens: 10,
  outputTokens: 4,
  costUsd: 0.5,
  usageSource: 'upstream',
};

async function linesOf(requests: readonly Labelled[]): Promise<string[]> {
  const metrics = createMetrics();
  for (const one of requests) metrics.finished(one, one.model, one.target);
  return (await metrics.render()).text.split('\n');
}

test('requests, tokens and cost are counted by their labels', async () => {
  const failed: Labelled = { ...request, status: 502, class: 'upstreams-failed', target: '', outputTokens: 0 };
  const counted: Labelled = { ...request, usageSource: 'counted', outputTokens: 7, costUsd: 0.25 };
  const lines = await linesOf([request, request, failed, counted, request]);
  for (const line of [
    '# TYPE culvert_requests_total counter',
    'culvert_requests_total{endpoint="chat",model="smart",target="up/model",status="200",class="ok"} 4',
    'culvert_requests_total{endpoint="chat",model="smart",target="",status="502",class="upstreams-failed"} 1',
    'culvert_tokens_total{model="smart",target="up/model",direction="input",usage_source="upstream"} 30',
    'culvert_tokens_total{model="smart",target="up/model",direction="output",usage_source="upstream"} 12',
    'culvert_tokens_total{model="smart",target="up/model",direction="output",usage_source="counted"} 7',
    'culvert_cost_usd_total{model="smart",target="up/model",usage_source="upstream"} 1.5',
    'culvert_cost_usd_total{model="smart",target="up/model",usage_source="counted"} 0.25',
  ])
    assert.ok(lines.includes(line), line);
});

test('durations of all statuses of a model fall into the buckets of one histogram', async () => {
  const lines = await linesOf([request, { ...request, status: 502, ms: 700_000, firstTokenMs: null }]);
  for (const line of [
    '# TYPE culvert_request_duration_seconds histogram',
    'culvert_request_duration_seconds_bucket{le="0.25",endpoint="chat",model="smart"} 0',
    'culvert_request_duration_seconds_bucket{le="0.5",endpoint="chat",model="smart"} 1',
    'culvert_request_duration_seconds_bucket{le="600",endpoint="chat",model="smart"} 1',
    'culvert_request_duration_seconds_bucket{le="+Inf",endpoint="chat",model="smart"} 2',
    'culvert_request_duration_seconds_sum{endpoint="chat",model="smart"} 700.3',
    'culvert_request_duration_seconds_count{endpoint="chat",model="smart"} 2',
    // A bucket holds values that equal its bound.
    'culvert_first_token_seconds_bucket{le="0.05",model="smart",target="up/model"} 1',
  ])
    assert.ok(lines.includes(line), line);
});

test('labels beyond the bound are counted together as `other`', async () => {
  const made = Array.from({ length: seriesCellsMax + 5 }, (_, i) => ({ ...request, model: `made-${i}` }));
  const lines = await linesOf([...made, request]);
  const requests = lines.filter((line) => line.startsWith('culvert_requests_total{'));
  assert.equal(requests.length, seriesCellsMax + 1);
  assert.equal(
    requests.at(-1),
    'culvert_requests_total{endpoint="other",model="other",target="other",status="other",class="other"} 6',
  );
});

test('the first scrape shows no event loop lag, which nothing has measured yet: neither NaN nor 292 years', async () => {
  const metrics = createMetrics();
  const { text } = await metrics.render();
  assert.doesNotMatch(text, / nan$/im);
  assert.match(text, /^process_resident_memory_bytes /m);
  assert.doesNotMatch(text, /nodejs_eventloop_lag_/);
});

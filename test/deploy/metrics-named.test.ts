import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parse } from 'yaml';
import { adminKey, startGateway } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';
import { exposed, namedIn } from './promql.ts';

/* A dashboard that names a missing metric stays empty, and such an alert never fires: neither says so. */

const deploy = join(dirname(fileURLToPath(import.meta.url)), '../../deploy');
/** Given to every series by Prometheus itself, and the metric that it makes of a scrape. */
const ofPrometheus = { labels: ['instance', 'job', 'namespace', 'pod'], metric: 'up' };

interface Dashboard {
  panels: { title: string; targets?: { expr: string }[] }[];
  templating: { list: { query: { query: string } }[] };
}

function* queries(): Generator<[where: string, query: string]> {
  const { groups } = parse(readFileSync(join(deploy, 'prometheus/alerts.yml'), 'utf8'));
  for (const { rules } of groups) for (const { alert, expr } of rules) yield [alert, expr];
  for (const file of globSync(join(deploy, 'grafana/dashboards/*.json'))) {
    const { panels, templating } = JSON.parse(readFileSync(file, 'utf8')) as Dashboard;
    for (const { title, targets = [] } of panels)
      for (const { expr } of targets) yield [`${basename(file)}: ${title}`, expr.replaceAll('$__rate_interval', '5m')];
    for (const { query } of templating.list) {
      const [, selector, label] = /^label_values\((.+), (\w+)\)$/.exec(query.query)!;
      yield [`${basename(file)}: variable`, `count by (${label}) (${selector})`];
    }
  }
  const { rules } = parse(readFileSync(join(deploy, 'prometheus/adapter.yaml'), 'utf8'));
  for (const { seriesQuery } of rules.custom) yield ['adapter.yaml', seriesQuery];
}

test('every metric and label that dashboards, alerts and the autoscaler name is exposed', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' } },
    models: {
      smart: { targets: [{ provider: 'up', model: 'mock/ok', price: { input: 1, output: 2 } }] },
      broken: { targets: ['up/mock/status=500'] },
    },
    telemetry: { sinks: [{ name: 'disk', folder: temporaryFolder(t) }] },
    tools: { search: { providers: [{ type: 'searxng', base_url: upstream.url }] } },
  });
  await gateway.modelsKnown;
  const messages = [{ role: 'user', content: 'Hello' }];
  const ask = async (path: string, json: object, status: number) => {
    const answer = await gateway.fetch(path, { json });
    assert.equal(answer.status, status, `${path}: ${await answer.text()}`);
  };
  await ask('/v1/chat/completions', { model: 'smart', messages, stream: true }, 200);
  await ask('/v1/chat/completions', { model: 'broken', messages }, 502);
  await ask('/v1/chat/completions', { model: 'nobody', messages }, 404);
  await ask('/v1/vectors/collections', { name: 'docs', embedding_model: 'culvert-lexical-1024' }, 200);
  await ask('/v1/vectors/collections/docs/points', { points: [{ id: 1, payload: { text: 'Bread' } }] }, 200);
  // The mock upstream is not a search engine, but it was asked.
  await ask('/v1/tools/search', { query: 'bread' }, 502);
  const scrape = async () =>
    (await gateway.fetch('/metrics', { headers: { authorization: `Bearer ${adminKey}` } })).text();
  // Node's own collectors begin to measure with the first scrape, the last of them with a garbage collection.
  let found = exposed(await scrape());
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  while (!found.has('nodejs_gc_duration_seconds_sum')) {
    collectGarbage();
    found = exposed(await scrape());
  }

  let looked = 0;
  for (const [where, query] of queries())
    for (const { metric, labels } of namedIn(query)) {
      looked += 1;
      if (metric === ofPrometheus.metric) continue;
      const known = found.get(metric);
      assert.ok(known !== undefined, `${where}: nobody exposes ${metric}`);
      for (const label of labels)
        assert.ok(known.has(label) || ofPrometheus.labels.includes(label), `${where}: ${metric} has no label ${label}`);
    }
  assert.ok(looked > 50, `${looked} names`);
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { adminKey, overUpstreams, startGateway, workersKnow } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';

test('docs/metrics.md names every metric of ours with its labels, and no other', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const { providers } = overUpstreams(upstream.url);
  const target = { provider: 'up1', model: 'mock/ok', price: { input: 1, output: 1 } };
  const gateway = await startGateway(t, {
    providers,
    models: { chat: { targets: [target], cache: { ttl: '1h' } } },
    guards: { mails: { check: 'personal-data', action: 'flag' } },
    server: { guards: ['mails'] },
    telemetry: { sinks: [{ name: 'disk', folder: temporaryFolder(t) }] },
    tools: { search: { providers: [{ type: 'searxng', base_url: upstream.url }] } },
  });
  // The second one is a kept answer.
  for (const _ of ['asked', 'kept']) {
    const answer = await gateway.fetch('/v1/chat/completions', {
      json: { model: 'chat', messages: [{ role: 'user', content: 'Hi, I am a@example.org' }] },
    });
    assert.equal(answer.status, 200, await answer.text());
    await workersKnow();
  }
  upstream.script('/v1/chat/completions', ['status=500']);
  await (
    await gateway.fetch('/v1/chat/completions', {
      json: { model: 'chat', messages: [{ role: 'user', content: 'Hi' }] },
    })
  ).text();
  // It answers something else, which is an attempt too.
  await (await gateway.fetch('/v1/tools/search', { json: { query: 'otters' } })).text();
  assert.equal((await gateway.fetch('/v1/nothing')).status, 404);
  const scrape = await gateway.fetch('/metrics', { headers: { authorization: `Bearer ${adminKey}` } });
  // Shown once a variant is out, and once a hit was checked: test/variants/rollback and test/cache/semantic see them.
  const shown = new Map([
    ['culvert_variant_out', 'variant'],
    ['culvert_cache_checked_hits_total', 'outcome'],
  ]);
  for (const line of (await scrape.text()).split('\n')) {
    const [, name, labels] = /^(culvert_\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? /.exec(line) ?? [];
    if (name !== undefined) {
      const names = [...(labels ?? '').matchAll(/(\w+)="/g)]
        .map(([, label]) => label)
        .filter((label) => label !== 'le');
      shown.set(name, names.join(', '));
    }
  }
  const rows = [...readFileSync('docs/metrics.md', 'utf8').matchAll(/^\| `(culvert_\w+)` \| (.*?) ?\|/gm)];
  const documented = new Map(rows.map(([, name, labels]) => [name!, labels!.replaceAll('`', '')]));
  assert.deepEqual(Object.fromEntries([...documented].sort()), Object.fromEntries([...shown].sort()));
});

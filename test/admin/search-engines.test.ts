import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adminKey, startGateway, type TestGateway, testProcesses } from '../start-gateway.ts';
import { searxngSays, startEngine } from '../tools/start-engine.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are read as an operator's script reads them.
type Answer = any;

async function admin(gateway: TestGateway, method: 'GET' | 'POST', path: string) {
  const headers = { authorization: `Bearer ${adminKey}` };
  const response = await gateway.fetch(`/admin/v1${path}`, { method, headers });
  const text = await response.text();
  return { status: response.status, text, json: JSON.parse(text) as Answer };
}

const learnsAlone = testProcesses > 1 && 'each worker learns the health of search engines itself';

test('search engines stand among the providers, with what searches have taught of each', {
  skip: learnsAlone,
}, async (t) => {
  const broken = await startEngine(t, () => ({
    status: 429,
    headers: { 'retry-after': '60' },
    body: { error: 'slow' },
  }));
  const good = await startEngine(t, () => searxngSays('https://a.example/'));
  const gateway = await startGateway(t, {
    tools: {
      search: {
        providers: [
          { type: 'brave', base_url: `${broken.url}/sub/`, api_key: 'brave-secret-canary' },
          { type: 'searxng', base_url: good.url, priority: 2 },
          { type: 'corpus', priority: 3 },
        ],
      },
    },
  });
  const engines = async () => {
    const { json, text } = await admin(gateway, 'GET', '/providers');
    assert.doesNotMatch(text, /canary/);
    return json.data.filter(({ serves }: Answer) => serves === 'search');
  };
  const fresh = await engines();
  assert.deepEqual(
    fresh.map(({ name, type, status }: Answer) => [name, type, status]),
    [
      ['search:brave', 'brave', 'healthy'],
      ['search:searxng', 'searxng', 'healthy'],
    ],
    'pages of the callers themselves are no engine',
  );
  assert.deepEqual(
    [fresh[0].base_url, fresh[0].source, fresh[0].credentials[0].id],
    [`${broken.url}/sub`, 'file', 'brave#0'],
  );
  assert.deepEqual(fresh[0].credentials[0].lanes, []);

  assert.equal((await gateway.fetch('/v1/tools/search', { json: { query: 'otters' } })).status, 200);
  const [brave, searxng] = await engines();
  const [lane] = brave.credentials[0].lanes;
  assert.deepEqual([brave.status, lane.model, lane.state, lane.why], ['down', 'search', 'cooling', 'rate limited']);
  assert.ok(Date.parse(lane.back_at) > Date.now());
  const metrics = await gateway.fetch('/metrics', { headers: { authorization: `Bearer ${adminKey}` } });
  const counted = (await metrics.text()).split('\n').filter((line) => line.startsWith('culvert_search_attempts_total'));
  assert.deepEqual(counted, [
    'culvert_search_attempts_total{engine="brave",class="rate_limited"} 1',
    'culvert_search_attempts_total{engine="searxng",class="ok"} 1',
  ]);
  assert.deepEqual([searxng.status, searxng.credentials[0].lanes[0].succeeded], ['healthy', 1]);
});

test('an engine that does not take its key is down', { skip: learnsAlone }, async (t) => {
  const refusing = await startEngine(t, () => ({ status: 401, body: { error: 'no such key' } }));
  const good = await startEngine(t, () => searxngSays('https://a.example/'));
  const gateway = await startGateway(t, {
    tools: {
      search: {
        providers: [
          { type: 'brave', base_url: refusing.url, api_key: 'brave-secret-canary' },
          { type: 'searxng', base_url: good.url, priority: 2 },
        ],
      },
    },
  });
  assert.equal((await gateway.fetch('/v1/tools/search', { json: { query: 'otters' } })).status, 200);
  const { json } = await admin(gateway, 'GET', '/providers');
  const brave = json.data.find(({ name }: Answer) => name === 'search:brave');
  assert.deepEqual([brave.status, brave.credentials[0].lanes[0].state], ['down', 'open']);
});

test('testing an engine asks it one query, and says whether its key is taken', async (t) => {
  const engine = await startEngine(t, () => ({ status: 401, body: { error: 'no such key: tavily-secret-canary' } }));
  const gateway = await startGateway(t, {
    tools: { search: { providers: [{ type: 'tavily', base_url: engine.url, api_key: 'tavily-secret-canary' }] } },
  });
  const refused = await admin(gateway, 'POST', '/providers/search:tavily/test');
  assert.equal(refused.status, 200);
  assert.equal(refused.json.ok, false);
  const { credential, verdict, message } = refused.json.data[0];
  assert.deepEqual([credential, verdict], ['tavily#0', 'bad credential']);
  assert.match(message, /401/);
  assert.doesNotMatch(refused.text, /canary/);
  assert.equal(engine.asked.length, 1);

  engine.says = () => ({ body: { results: [] } });
  const taken = await admin(gateway, 'POST', '/providers/search:tavily/test');
  assert.deepEqual([taken.json.ok, taken.json.data[0].verdict, engine.asked.length], [true, 'ok', 2]);
  assert.equal((await admin(gateway, 'POST', '/providers/search:exa/test')).status, 404);
});

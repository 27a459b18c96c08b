import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorEntries } from '../../scripts/docs/error-reference.ts';
import { overUpstreams, startGateway, type TestGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

const messages = [{ role: 'user', content: 'Hello' }];
const publicUrl = 'https://ai.example.org/gate';

/** The link of an error, wherever its format has it. */
async function linkOf(response: Response): Promise<string> {
  const text = await response.text();
  const [, link] = /"(?:doc_url|url)":"([^"]+\/docs\/errors#[^"]+|\/docs\/errors#[^"]+)"/.exec(text) ?? [];
  assert.ok(link !== undefined, `${response.status}: ${text}`);
  const topic = link.slice(link.indexOf('#') + 1);
  assert.ok(topic in errorEntries, topic);
  return link;
}

/** One error of every format, with the entry that explains it. */
const asked: readonly (readonly [topic: string, ask: (gateway: TestGateway) => Promise<Response>])[] = [
  ['not-found', ({ fetch }) => fetch('/v1/nothing')],
  ['method-not-allowed', ({ fetch }) => fetch('/v1/chat/completions', { method: 'DELETE' })],
  ['unauthenticated', ({ url }) => fetch(`${url}/v1/models`)],
  ['unauthenticated', ({ url }) => fetch(`${url}/dashboard/session`, { method: 'DELETE' })],
  ['forbidden', ({ fetch }) => fetch('/admin/v1/accounts')],
  ['model-unknown', ({ fetch }) => fetch('/v1/chat/completions', { json: { model: 'none', messages } })],
  ['invalid-request', ({ fetch }) => fetch('/v1/messages', { json: { model: 'chat', messages } })],
  ['model-unknown', ({ fetch }) => fetch('/v1/responses', { json: { model: 'none', input: 'Hello' } })],
  [
    'model-unknown',
    ({ fetch }) =>
      fetch('/v1beta/models/none:generateContent', { json: { contents: [{ parts: [{ text: 'Hello' }] }] } }),
  ],
  ['model-unknown', ({ fetch }) => fetch('/v1beta/models/none')],
  ['not-found', ({ fetch }) => fetch('/v1/vectors/collections/none')],
  ['url_blocked', ({ fetch }) => fetch('/v1/tools/scrape', { json: { url: 'http://127.0.0.1:1/' } })],
  ['url_blocked', ({ fetch }) => fetch('/v2/scrape', { json: { url: 'http://127.0.0.1:1/' } })],
  ['invalid-request', ({ fetch }) => fetch('/mcp', { json: [] })],
  ['upstreams-failed', ({ fetch }) => fetch('/v1/chat/completions', { json: { model: 'bad', messages } })],
  // A stream ends with it.
  [
    'answer-broken-off',
    ({ fetch }) => fetch('/v1/chat/completions', { json: { model: 'cut', messages, stream: true } }),
  ],
  ['limit-window', ({ fetch }) => fetch('/v1/chat/completions', { json: { model: 'chat', messages } })],
];

async function setup(t: Parameters<typeof startGateway>[0], server: Record<string, unknown>) {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const over = overUpstreams(upstream.url) as { models: Record<string, object> };
  const gateway = await startGateway(t, {
    ...over,
    server,
    models: {
      ...over.models,
      bad: { targets: ['up1/mock/status=500'] },
      cut: { targets: ['up1/mock/cut'] },
    },
    plans: { default: { windows: { '5h': 1 }, rpm: 'off' } },
  });
  await gateway.modelsKnown;
  return gateway;
}

test('an error links to its entry, as a path where no public_url is configured', async (t) => {
  const gateway = await setup(t, {});
  for (const [topic, ask] of asked) assert.equal(await linkOf(await ask(gateway)), `/docs/errors#${topic}`);
});

test('with public_url the link is whole', async (t) => {
  const gateway = await setup(t, { public_url: `${publicUrl}/` });
  for (const [topic, ask] of asked) assert.equal(await linkOf(await ask(gateway)), `${publicUrl}/docs/errors#${topic}`);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startUpstream, type Upstream } from '../start-upstream.ts';

const messages = [{ role: 'user', content: 'Hello' }];
const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }];

type Posted = { path: string; body: Record<string, unknown> };
const posted = (upstream: Upstream) =>
  upstream.requests().filter(({ method }) => method === 'POST') as unknown as Posted[];

test('models beside the first are found as the first was: by alias, else by its pattern; the rest are told', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { router: { type: 'openrouter', base_url: `${upstream.url}/v1`, api_key: 'x' } },
    models: {
      'or/*': { targets: ['router/*'] },
      plain: { targets: ['router/sim/plain'] },
      secret: { targets: ['router/sim/secret'] },
    },
    plans: { default: { windows: 'off', rpm: 'off', models: ['or/sim/*', 'plain'] } },
  });
  const ask = async (model: string, models: string[]) => {
    upstream.clear();
    upstream.script('/v1/chat/completions', ['status=503']);
    const response = await gateway.fetch('/v1/chat/completions', { json: { model, models, messages } });
    const { error } = (await response.json()) as { error?: { message: string } };
    const asked = posted(upstream).map(({ body }) => body.model);
    return { status: response.status, asked, error: error?.message ?? null };
  };
  assert.deepEqual(await ask('or/sim/a', ['sim/a', 'sim/b']), { status: 200, asked: ['sim/a', 'sim/b'], error: null });
  assert.deepEqual((await ask('or/sim/c', ['plain'])).asked, ['sim/c', 'sim/plain'], 'an alias goes before a pattern');
  const beyond = await ask('or/sim/d', ['other/e']);
  assert.deepEqual([beyond.status, beyond.asked], [403, []]);
  assert.match(beyond.error!, /'or\/other\/e' is not part of your plan/);
  const unknown = await ask('plain', ['sim/b']);
  assert.deepEqual([unknown.status, unknown.asked], [404, []]);
  assert.equal((await ask('or/sim/f', ['secret'])).status, 403);
});

test('a model in the body of Google’s format is not looked at: the path names it', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: {
      google: { type: 'gemini', base_url: `${upstream.url}/v1beta`, api_key: 'x' },
      openai: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'x' },
    },
    models: { own: { targets: ['google/g'] }, other: { targets: ['openai/o'] } },
  });
  for (const model of ['own', 'other', 'models/gemini-x', 5]) {
    for (const [alias, asked] of [
      ['own', '/v1beta/models/g:generateContent'],
      ['other', '/v1/chat/completions'],
    ] as const) {
      upstream.clear();
      const response = await gateway.fetch(`/v1beta/models/${alias}:generateContent`, { json: { contents, model } });
      assert.equal(response.status, 200, await response.text());
      const [{ path, body }] = posted(upstream) as [Posted];
      assert.equal(path.split('?')[0], asked);
      assert.equal(body.model, alias === 'own' ? undefined : 'o');
    }
  }
});

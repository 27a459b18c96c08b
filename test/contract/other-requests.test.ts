import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { noLimits, startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { otherRequests } from './other-requests.ts';
import { placesIn, wholeRequests } from './whole-requests.ts';

/* What has no text, or is no list, is never a 500 at any place of a request, whatever the endpoint. */

const upstream = await startUpstream({ models: ['mock/ok'] });
after(() => upstream.close());
const at = { base_url: `${upstream.url}/v1`, api_key: 'k' };
const over = (provider: string, more: object = {}) => ({ targets: [`${provider}/mock/ok`], ...more });
const spentKey = 'sk-cv-test-key-spent';
const kinds = ['image', 'speech', 'transcription', 'moderation'] as const;
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    providers: {
      chat: { type: 'openai', ...at, dialects: ['openai-chat'] },
      claude: { type: 'anthropic', ...at },
      cohere: { type: 'cohere', ...at, base_url: upstream.url },
    },
    models: {
      chat: over('chat'),
      claude: over('claude'),
      guarded: over('claude', { guards: ['words'] }),
      embed: over('chat', { type: 'embedding' }),
      rerank: over('cohere', { type: 'rerank' }),
      ...Object.fromEntries(kinds.map((type) => [type, over('chat', { type })])),
    },
    // Guards and rules read bodies that are passed on as they came.
    guards: { words: { check: 'words', words: ['zebrafish'], action: 'block', on: ['input'] } },
    routes: { never: { when: 'tokens > 900000', model: 'claude' } },
    plans: { ...noLimits, spent: { windows: { '5h': 0.01 }, rpm: 'off' } },
    accounts: { spent: { plan: 'spent' } },
    keys: [
      { key: testKey, account: 'dev', name: 'test' },
      { key: spentKey, account: 'spent', name: 'test' },
    ],
  },
);
await gateway.modelsKnown;
await gateway.fetch('/v1/vectors/collections', { json: { name: 'points', vector_size: 2, distance: 'Cosine' } });

const odd: readonly unknown[] = [{ toString: 1 }, [{ toString: 1 }], null, '__proto__', ''];

for (const { path, body, headers = {} } of otherRequests) {
  test(`${path}: no value at any place of ${JSON.stringify(body).length} characters is a fault of ours`, async () => {
    for (const [index] of placesIn(body).entries()) {
      for (const value of odd) {
        const json = structuredClone(body);
        const { holder, key } = placesIn(json)[index]!;
        holder[key] = value;
        const response = await gateway.fetch(path, { json, headers });
        const text = await response.text();
        const isAnswered = response.status < 300 || (response.status < 500 && /"(?:message|error)":"/.test(text));
        assert.ok(isAnswered && !text.includes('[object'), `${response.status} ${text} for ${JSON.stringify(json)}`);
      }
    }
  });
}

/** They cost nothing, or are counted by what they hold; searches of vectors are in 8-limits. */
const free = /count_?tokens|input_tokens|conversations|vector|client_secrets|batches$|moderations|mcp/i;

const everyRequest: typeof otherRequests = [...otherRequests, ...wholeRequests];
for (const { path, body, headers = {} } of everyRequest) {
  if (free.test(path) || body.model === 'guarded') continue;
  test(`${path}: an account that has nothing left of its plan gets 429`, async () => {
    const model = /embed/i.test(path) ? 'embed' : 'chat';
    const json = { ...body, ...(body.model === 'MODEL' && { model }) };
    const spent = { ...headers, authorization: `Bearer ${spentKey}` };
    const response = await gateway.fetch(path.replace('MODEL', model), { json, headers: spent });
    const text = await response.text();
    assert.equal(response.status, 429, text);
    assert.match(text, /5-hour|5h/, text);
  });
}

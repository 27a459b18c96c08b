import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/* A target lacks what is asked for: the next one has the last word, since it may answer later. */

const upstream = await startUpstream();
after(() => upstream.close());
const at = { type: 'openai', base_url: `${upstream.url}/v1` };
const lacking = 'a/mock/status=400;message=This model does not support tools';
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  {
    providers: { a: { ...at, api_key: 'a' }, b: { ...at, api_key: 'b' }, c: { ...at, api_key: 'c' } },
    models: {
      answered: { targets: [lacking], fallbacks: ['has'] },
      has: { targets: ['b/mock/ok'] },
      refused: { targets: [lacking, 'b/mock/status=400;message=b does not support tools'] },
      limited: { targets: [lacking], fallbacks: ['full'] },
      full: { targets: ['c/mock/status=429;retry-after=60'] },
      silent: { targets: [lacking], fallbacks: ['hung'] },
      hung: { targets: ['b/mock/hang'] },
    },
  },
);

for (const [model, status, words] of [
  ['answered', 200, /Mock answer/],
  ['refused', 400, /does not support tools/],
  ['limited', 429, /Try again in/],
  ['silent', 502, /b: did not finish/],
] as const) {
  test(`what the next target ends with is the answer where the first lacks something: ${model}`, async () => {
    const json = { model, messages: [{ role: 'user', content: 'Hello' }] };
    const headers = { 'x-culvert-timeout-ms': model === 'silent' ? '500' : '20000' };
    const answer = await gateway.fetch('/v1/chat/completions', { json, headers });
    assert.match(await answer.text(), words);
    assert.equal(answer.status, status);
  });
}

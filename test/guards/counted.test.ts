import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { temporaryFolder } from '../start-process.ts';
import { startUpstream } from '../start-upstream.ts';

/* A provider that counts the tokens of a request gets its texts. */

const upstream = await startUpstream();
after(upstream.close);
const folder = temporaryFolder({ after });
const moduleOf = (name: string, functions: string) => {
  const file = join(folder, `${name}.mjs`);
  writeFileSync(file, `export default { version: 1, ${functions} };`);
  return file;
};
const at = { api_key: 'k' };
const targets = { claude: 'claude/mock/ok', google: 'google/mock/ok' };
const email = { check: 'personal-data', kinds: ['email'] };
const gateway = await startGateway({ after } as TestContext, {
  providers: {
    claude: { type: 'anthropic', base_url: `${upstream.url}/v1`, ...at },
    google: { type: 'gemini', base_url: upstream.url, ...at },
  },
  guards: {
    mask: { ...email, action: 'mask' },
    out: { ...email, action: 'block', on: ['output'] },
  },
  hooks: {
    reads: { module: moduleOf('reads', 'onRequest: () => null'), models: ['claude-reads', 'google-reads'] },
    looks: { module: moduleOf('looks', 'onSettled() {}'), models: ['claude-looks', 'google-looks'] },
  },
  models: Object.fromEntries(
    Object.entries(targets).flatMap(([name, target]) => [
      ...['mask', 'out'].map((guard) => [`${name}-${guard}`, { targets: [target], guards: [guard] }]),
      ...['reads', 'looks', 'free'].map((step) => [`${name}-${step}`, { targets: [target] }]),
    ]),
  ),
});

const text = 'Write to ann@example.org.';
const counts: Record<keyof typeof targets, (model: string) => [path: string, json: object]> = {
  claude: (model) => ['/v1/messages/count_tokens', { model, messages: [{ role: 'user', content: text }] }],
  google: (model) => [`/v1beta/models/${model}:countTokens`, { contents: [{ role: 'user', parts: [{ text }] }] }],
};

for (const name of ['claude', 'google'] as const) {
  for (const [step, by] of [
    ['mask', 'here'],
    ['reads', 'here'],
    ['out', 'there'],
    ['looks', 'there'],
    ['free', 'there'],
  ] as const) {
    test(`tokens are counted ${by}: ${name}, ${step}`, async () => {
      upstream.clear();
      const [path, json] = counts[name](`${name}-${step}`);
      const answer = await gateway.fetch(path, { method: 'POST', json });
      assert.equal(answer.status, 200, await answer.text());
      if (name === 'claude')
        assert.equal(answer.headers.get('x-culvert-token-count'), by === 'here' ? 'estimated' : null);
      const sent = upstream.requests().filter(({ method }) => method === 'POST');
      assert.equal(sent.length, by === 'here' ? 0 : 1);
    });
  }
}

import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { textOf } from './conversations.ts';

const upstream = await startUpstream();
after(upstream.close);
const cold = 'mock/tokens=10';
const gateway = await startGateway({ after } as TestContext, {
  providers: {
    openai: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' },
    groq: { type: 'groq', base_url: `${upstream.url}/v1`, api_key: 'k' },
  },
  models: {
    asking: { targets: [{ provider: 'openai', model: cold, prompt_cache: 'auto' }] },
    silent: { targets: [`openai/${cold}`] },
    warm: { targets: ['openai/mock/tokens=10;cached=2000'] },
    short: { targets: ['openai/mock/tokens=11'] },
    few: { targets: ['openai/mock/tokens=12'] },
    elsewhere: { targets: [`groq/${cold}`] },
  },
});

interface Finding {
  check: string;
  state: string;
  message: string;
  fix: string;
}

test('the doctor names aliases whose long prompts come from no cache, and says what to do', async () => {
  const ask = async (model: string, tokens: number, count: number) => {
    for (let at = 0; at < count; at += 1) {
      const messages = [{ role: 'user', content: `${at} ${textOf(tokens)}` }];
      const answer = await gateway.fetch('/v1/chat/completions', { method: 'POST', json: { model, messages } });
      assert.equal(answer.status, 200, await answer.text());
    }
  };
  for (const model of ['asking', 'silent', 'warm', 'elsewhere']) await ask(model, 3_000, 20);
  await ask('short', 500, 20);
  await ask('few', 3_000, 5);
  let found: Finding[] = [];
  await until('the rows are written', async () => {
    const answer = await gateway.fetch('/admin/v1/doctor', { headers: { authorization: `Bearer ${adminKey}` } });
    const { findings } = (await answer.json()) as { findings: Finding[] };
    found = findings.filter(({ check }) => check.startsWith('prompt cache'));
    return found.length >= 2;
  });
  assert.deepEqual(found.map(({ check, state }) => `${state}: ${check}`).sort(), [
    'warning: prompt cache of asking',
    'warning: prompt cache of silent',
  ]);
  const of = (alias: string) => found.find(({ check }) => check.endsWith(alias))!;
  assert.match(of('asking').message, /Of the input of 20 long requests for 'asking', 0% came from/);
  assert.match(of('asking').fix, /^The beginning of its prompts probably changes\. Put what stays the same first/);
  assert.match(of('silent').fix, /^Set prompt_cache: auto for 'silent'\./);
});

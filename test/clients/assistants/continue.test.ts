import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testKey } from '../../start-gateway.ts';
import { startUpstream } from '../../start-upstream.ts';
import { type Assistant, assistant, missingAssistant, overUpstream } from './assistant.ts';

const skip = missingAssistant('cn');

/** Endpoint of Continue: chat completions, Messages and, for this name, Responses. */
const models = [
  ['openai', '/v1', 'chat'],
  ['anthropic', '/v1/', 'claude-x'],
  ['openai', '/v1', 'gpt-5'],
] as const;

async function ask(cn: Assistant, base: string, [provider, path, model]: (typeof models)[number]): Promise<string> {
  const [entry] = [{ name: 'm', provider, model, apiBase: base + path, apiKey: testKey, roles: ['chat'] }];
  const config = { name: 'test', version: '1.0.0', schema: 'v1', models: [entry] };
  cn.write('project/config.yaml', JSON.stringify(config));
  const { code, stdout, said } = await cn.run(['-p', 'say hi', '--config', 'config.yaml']);
  assert.equal(code, 0, said);
  return stdout;
}

for (const model of models) {
  test(`Continue asks again for a stream that breaks, as it does without us (${model.join(' ')})`, {
    skip,
  }, async (t) => {
    const cn = assistant(t, 'cn');
    const straight = await startUpstream();
    t.after(() => straight.close());
    const { gateway, upstream } = await overUpstream(t);
    for (const [base, asked] of [
      [straight.url, straight],
      [gateway.url, upstream],
    ] as const) {
      asked.script('*', ['tokens=50;cut=12events']);
      assert.match(await ask(cn, base, model), /Mock answer to: say hi/, base);
      assert.equal(asked.requests().filter(({ method }) => method === 'POST').length, 2);
    }
  });
}

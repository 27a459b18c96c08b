import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestFields as messagesFields } from '../../src/formats/dialects/anthropic-messages/request-fields.ts';
import type { SharedDialectId } from '../../src/formats/dialects/dialect.ts';
import { generationFields } from '../../src/formats/dialects/gemini/request-fields.ts';
import { requestFields as chatFields } from '../../src/formats/dialects/openai-chat/request-fields.ts';
import { requestFields as responsesFields } from '../../src/formats/dialects/openai-responses/request-fields.ts';
import { string } from '../../src/formats/neutral/value-checks.ts';
import type { JsonObject } from '../../src/kernel/json.ts';

/*
 * A new member of the neutral form that callers' tables read and no encoder knows. The rows are added before anything else
 * looks at the tables, so this file must be alone in its process.
 */
for (const table of [chatFields, responsesFields, messagesFields, generationFields]) {
  (table as Map<string, unknown>).set('persona', [string, 'persona']);
}
const { sent, targets } = await import('./sent.ts');
const { startGateway } = await import('../start-gateway.ts');
const { startUpstream } = await import('../start-upstream.ts');

const persona = 'a pirate';
const asked: Readonly<Record<SharedDialectId, { body: JsonObject; field: string }>> = {
  'openai-chat': { body: { model: 'alias', messages: [{ role: 'user', content: 'Hi' }], persona }, field: 'persona' },
  'openai-responses': { body: { model: 'alias', input: 'Hi', store: false, persona }, field: 'persona' },
  'anthropic-messages': {
    body: { model: 'alias', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }], persona },
    field: 'persona',
  },
  gemini: {
    body: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }], generationConfig: { persona } },
    field: 'generationConfig.persona',
  },
};

for (const [caller, { body, field }] of Object.entries(asked) as [SharedDialectId, (typeof asked)['gemini']][]) {
  for (const target of targets.filter(({ dialect }) => dialect !== caller)) {
    test(`a field that no encoder knows is a loss: ${caller} over ${target.dialect}`, async () => {
      const found = await sent(caller, body, target);
      assert.deepEqual(found?.lost, [field]);
      assert.ok(!found.bytes.includes(persona));
    });
  }
}

test('x-culvert-dropped names a field that no encoder knows', async (t) => {
  const upstream = await startUpstream();
  t.after(() => upstream.close());
  const gateway = await startGateway(t, {
    providers: { up: { type: 'openai', api_key: 'a-key', base_url: `${upstream.url}/v1` } },
    models: { alias: { targets: ['up/sim/chat'] } },
  });
  const answer = await gateway.fetch('/v1/messages', { method: 'POST', json: asked['anthropic-messages'].body });
  assert.equal(answer.status, 200, await answer.text());
  assert.equal(answer.headers.get('x-culvert-dropped'), 'persona');
});

import assert from 'node:assert/strict';
import { after, beforeEach, type TestContext, test } from 'node:test';
import { checkConfigText } from '../../src/config/check.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { until } from '../until.ts';
import { startService } from './start-service.ts';

/* A model of this server moderates: by moderations, or by a conversation. */

const upstream = await startService(after);
let verdict = 'safe';
upstream.play = ({ path, body }) => {
  const { model, input } = JSON.parse(body || '{}') as { model?: string; input?: string[] };
  if (path.endsWith('/moderations')) {
    const flagged = verdict !== 'safe';
    const result = { flagged, categories: { violence: flagged }, category_scores: { violence: flagged ? 0.9 : 0 } };
    return { id: 'modr-1', model, results: (input ?? []).map(() => result) };
  }
  const content = model === 'judge-1' ? verdict : 'Hello.';
  const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
  const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
  return { id: 'c', object: 'chat.completion', created: 1, model, choices, usage };
};

const chats = { targets: ['up/chat-1'] };
const guard = { check: 'model', action: 'block', deadline: '20s' };
const gateway = await startGateway({ after } as TestContext, {
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  guards: {
    moderated: { ...guard, model: 'moderation', on: ['input'] },
    judged: { ...guard, model: 'judge' },
  },
  models: {
    moderation: { type: 'moderation', targets: ['up/omni-1'] },
    judge: { targets: ['up/judge-1'] },
    moderated: { ...chats, guards: ['moderated'] },
    judged: { ...chats, guards: ['judged'] },
  },
});
const everywhere = {
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  guards: { judged: { ...guard, model: 'judge', on: ['input'] } },
  models: { judge: { targets: ['up/judge-1'] }, plain: chats },
  server: { guards: ['judged'] },
};

beforeEach(() => {
  upstream.calls.length = 0;
  verdict = 'safe';
});

async function ask(model: string, at = gateway) {
  const json = { model, messages: [{ role: 'user', content: 'a question' }] };
  const response = await at.fetch('/v1/chat/completions', { json });
  return { status: response.status, text: await response.text(), guard: response.headers.get('x-culvert-guard') };
}

for (const model of ['moderated', 'judged']) {
  test(`a model decides: ${model}`, async () => {
    const passed = await ask(model);
    assert.equal(passed.status, 200, passed.text);
    assert.equal(passed.guard, `${model}=pass; scanned=100%`);
    verdict = 'unsafe\nS1';
    const blocked = await ask(model);
    assert.equal(blocked.status, 400, blocked.text);
    assert.equal(blocked.guard, `${model}=blocked:1; scanned=100%`);
    const [call] = upstream.calls.filter(({ body }) => body.includes(model === 'judged' ? 'judge-1' : 'omni-1'));
    assert.ok(call!.body.includes('a question'));
  });
}

test('a model that says something else has no verdict', async () => {
  verdict = 'I would rather not.';
  const { status, guard } = await ask('judged');
  assert.deepEqual([status, guard], [503, 'judged=unanswered:1; unscanned; scanned=0%']);
});

test('a guard of all requests does not look through its own', async (t) => {
  const server = await startGateway(t, everywhere);
  const { status, text } = await ask('plain', server);
  assert.equal(status, 200, text);
  assert.equal(upstream.calls.filter(({ body }) => body.includes('judge-1')).length, 1);
});

test('what a guard asks is in the ledger of no caller', async () => {
  await ask('moderated');
  const headers = { authorization: `Bearer ${adminKey}` };
  let rows: { account: string; endpoint: string; tag: string | null }[] = [];
  await until('the call is written', async () => {
    const found = await fetch(`${gateway.url}/admin/v1/requests?account=(server)`, { headers });
    rows = ((await found.json()) as { data?: typeof rows }).data ?? [];
    return rows.some(({ endpoint }) => endpoint === 'moderations');
  });
  assert.ok(rows.every(({ account, tag }) => account === '(server)' && tag === 'guard'));
});

test('a model that is not there is refused with its line', () => {
  const written =
    'guards:\n  ours: { check: model, model: jugde, action: block }\nmodels: { judge: { targets: [up/x] } }';
  const checked = checkConfigText(written, 'culvert.yaml', {});
  const problems = checked.ok ? [] : checked.errors.map(({ line, path, message }) => `${line} ${path}: ${message}`);
  assert.ok(
    problems.some((one) => /^2 guards\.ours\.model: there is no such model \(did you mean 'judge'\?\)/.test(one)),
    problems.join('\n'),
  );
});

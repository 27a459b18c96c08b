import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import type OpenAI from 'openai';
import { openWorld } from './world.ts';

/* `truncation` of Responses, where the model of another provider has a small context. */

const world = await openWorld(
  { after: after as TestContext['after'] },
  {
    models: {
      chat: { targets: ['chat/mock/ok'], context_window: 2_000 },
      claude: { targets: ['claude/mock/ok'], context_window: 2_000 },
      native: { targets: ['native/mock/ok'], context_window: 2_000 },
      unknown: { targets: ['chat/some-model'] },
    },
  },
);
const { gateway, upstream, client: openai } = world;
const paths = { chat: '/v1/chat/completions', claude: '/v1/messages', native: '/v1/responses' } as const;

function told(): string {
  return JSON.stringify(world.sent().at(-1));
}

const turns = Array.from({ length: 12 }, (_, n): OpenAI.Responses.EasyInputMessage[] => [
  { role: 'user', content: `question-${n} ${'word '.repeat(80)}` },
  { role: 'assistant', content: `answer-${n} ${'word '.repeat(80)}` },
]).flat();
const input = [{ role: 'developer' as const, content: 'obey' }, ...turns, { role: 'user' as const, content: 'newest' }];
const asked = { input, instructions: 'be brief', max_output_tokens: 100 };
const ask = (model: string, truncation?: 'auto' | 'disabled') =>
  openai.responses.create({ model, ...asked, ...(truncation && { truncation }) }).withResponse();

for (const model of ['chat', 'claude']) {
  test(`auto: the oldest turns are left out, which the answer tells (${model})`, async () => {
    const { data, response } = await ask(model, 'auto');
    const body = told();
    for (const words of ['be brief', 'obey', 'newest', 'answer-11']) assert.ok(body.includes(words), words);
    assert.ok(!body.includes('question-0 ') && !body.includes('answer-0 '));
    const first = [...body.matchAll(/(question|answer)-(\d+) /g)][0]!;
    assert.equal(first[1], 'question');
    // As few as need be: the next older turn would be too much.
    assert.ok(body.length > 1_500 * 4);
    assert.equal(response.headers.get('x-culvert-dropped'), 'input');
    assert.equal(data.truncation, 'auto');
  });

  test(`auto: what fits is whole (${model})`, async () => {
    const { response } = await openai.responses
      .create({ model, input: [...turns.slice(0, 4), { role: 'user', content: 'newest' }], truncation: 'auto' })
      .withResponse();
    assert.match(told(), /question-0 /);
    assert.equal(response.headers.get('x-culvert-dropped'), null);
  });

  test(`disabled, or unsaid: nothing is left out, and the provider's refusal is OpenAI's 400 (${model})`, async () => {
    for (const truncation of ['disabled', undefined] as const) {
      const message = 'prompt is too long: 2500 tokens > 2000 maximum';
      upstream.script(paths[model as 'chat'], [`status=400;code=context_length_exceeded;message=${message}`]);
      await assert.rejects(ask(model, truncation), (error: InstanceType<typeof OpenAI.APIError>) => {
        assert.deepEqual([error.status, error.code], [400, 'context_length_exceeded']);
        return true;
      });
      assert.match(told(), /question-0 /);
    }
  });

  test(`auto: calls keep their outputs, and the question stays (${model})`, async () => {
    const calls = Array.from({ length: 12 }, (_, n): OpenAI.Responses.ResponseInputItem[] => [
      { type: 'function_call', call_id: `call_${n}`, name: 'read', arguments: '{}' },
      { type: 'function_call_output', call_id: `call_${n}`, output: `result-${n} ${'word '.repeat(160)}` },
    ]).flat();
    await openai.responses.create({
      model,
      input: [{ role: 'user', content: 'the question' }, ...calls],
      max_output_tokens: 100,
      truncation: 'auto',
    });
    const body = told();
    assert.ok(body.includes('the question') && body.includes('result-11 ') && !body.includes('result-0 '));
    const made = [...body.matchAll(/"id":"(call_\d+)"/g)].map(([, id]) => id);
    const answered = [...body.matchAll(/"(?:tool_call_id|tool_use_id)":"(call_\d+)"/g)].map(([, id]) => id);
    assert.ok(made.length > 0 && made.length < 12);
    assert.deepEqual(made, answered);
  });
}

test('a conversation that is kept here grows beyond the context, and goes on', async () => {
  let previous: string | undefined;
  for (let n = 0; n < 4; n++) {
    const { id } = await openai.responses.create({
      model: 'claude',
      input: `turn-${n} ${'word '.repeat(400)}`,
      max_output_tokens: 100,
      truncation: 'auto',
      ...(previous !== undefined && { previous_response_id: previous }),
    });
    previous = id;
  }
  const body = told();
  assert.ok(body.includes('turn-3') && !body.includes('turn-0'));
});

test('a provider of this format gets the word as it is; an unknown context is told', async () => {
  await ask('native', 'auto');
  const body = told();
  assert.ok(body.includes('"truncation":"auto"') && body.includes('question-0 '));
  const { response } = await ask('unknown', 'auto');
  assert.match(told(), /question-0 /);
  assert.equal(response.headers.get('x-culvert-dropped'), 'truncation');
  const wrong = await gateway.fetch('/v1/responses', { json: { model: 'chat', input: 'Hi', truncation: 'some' } });
  assert.equal(wrong.status, 400);
  assert.match(await wrong.text(), /'truncation'.*'auto', 'disabled'/);
});

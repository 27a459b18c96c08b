import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { differences } from './compare.ts';
import { type Conformance, conform } from './conform.ts';
import { isEqual } from './replay-answer.ts';
import { besideCauses, report } from './report.ts';
import { said } from './said.ts';

const folder = new URL('../recorded/exchanges', import.meta.url).pathname;
let result: Conformance;
before(async () => {
  result = await conform({ folder });
});

test('every form of recording is read, and its answers arrive in four formats, whole and streamed', () => {
  const recordings = Map.groupBy(result.answers, ({ from }) => from);
  assert.deepEqual(
    [...recordings.keys()],
    [
      'anthropic/cites.json',
      'anthropic/messages.yml#0',
      'anthropic/messages.yml#1',
      'google/drawn.json',
      'google/generate.har#0',
      'google/grounded.json',
      'google/names-model.json',
      'mistral/thinks.jsonl',
      'openai/chat.yaml#0',
      'openai/chat.yaml#1',
      'openai/chat.yaml#2',
      'openai/refused.json',
      'openai/responses.sse',
      'openai/searched.json',
      'openrouter/drawn.json',
      'openrouter/falls-back.json',
      'snowflake/no-reason.sse',
    ],
  );
  for (const [from, ways] of recordings) {
    assert.equal(ways.length, 8, from);
    for (const one of ways) assert.ok(isEqual(one), JSON.stringify(one));
  }
  assert.deepEqual(
    result.answers.flatMap(({ differences: found }) =>
      found.filter(({ what }) => what === 'usage' || what === 'ledger'),
    ),
    [],
  );
});

test('pictures and sources arrive in every format, or x-culvert-dropped names them', () => {
  assert.deepEqual(besideCauses(result.answers), []);
  const lost = (pattern: RegExp) =>
    result.answers.flatMap(({ from, caller, form, differences: found, dropped }) =>
      found.some(({ what }) => pattern.test(what)) ? [`${from} ${caller} ${form}: ${dropped}`] : [],
    );
  assert.deepEqual(lost(/media/), []);
  // Beside a picture without a text: in Messages sources stand in a text's block.
  assert.deepEqual(lost(/citations/), [
    'openrouter/drawn.json anthropic-messages whole: annotations, citations',
    'openrouter/drawn.json anthropic-messages streamed: annotations, citations',
  ]);
  const told = result.answers.filter(({ caller, from }) => caller === 'openai-chat' && from === 'google/grounded.json');
  // A file has no place among chat's annotations.
  assert.deepEqual(
    told.map(({ form, dropped }) => [form, dropped]),
    [
      ['whole', 'annotations'],
      ['streamed', 'annotations'],
    ],
  );
});

test('services are told by host, and by the shape and path of a fixture without one', () => {
  const services = new Map(result.answers.map(({ from, service }) => [from, service]));
  assert.equal(services.get('openai/chat.yaml#1'), 'xAI');
  assert.equal(services.get('mistral/thinks.jsonl'), 'Mistral');
  assert.equal(services.get('google/generate.har#0'), 'Gemini');
});

test('recorded requests are sent as they were; one that the gateway refuses is told with its words', () => {
  assert.deepEqual(
    result.requests.map(({ from, status, changed }) => [from, status, changed]),
    [
      ['anthropic/messages.yml#0', 200, []],
      ['anthropic/messages.yml#1', 200, []],
      ['google/generate.har#0', 200, []],
      ['google/names-model.json', 200, []],
      ['openai/chat.yaml#0', 200, []],
      ['openai/chat.yaml#1', 200, []],
      ['openai/chat.yaml#2', 200, []],
      ['openai/refused.json', 400, []],
      ['openrouter/falls-back.json', 200, []],
    ],
  );
  assert.match(result.requests.find(({ status }) => status === 400)!.refused!, /messages/);
});

test('what is cut, or no conversation, is left out and counted', () => {
  assert.deepEqual(result.unfinished, ['cut/half.sse']);
  assert.deepEqual(result.elsewhere, { 'https://api.openai.com/v1/models': 1 });
});

test('the table counts by service; a loss is one line however many callers meet it', () => {
  const [first] = result.answers;
  const lost = { ...first!, differences: [{ what: 'text' as const, said: 'Packed.', heard: '' }] };
  const streamed = { ...lost, form: 'streamed' as const };
  const text = report({ ...result, answers: [...result.answers.slice(2), lost, streamed] }, 10);
  assert.match(text, /^Anthropic +3 +2 +3 +3 +2 +0$/m);
  assert.match(text, /^OpenAI +4 +4 +4 +4 +2 +1$/m);
  assert.match(text, /1 {2}Anthropic messages whole: text gone {2}→ chat\n/);
});

const plain = said({ text: 'Yes.', tools: [], finish: 'stop', usage: { input: 3, output: 2 } });

test('text, calls, finish and counts must be equal; the spelling of arguments need not', () => {
  const call = { name: 'look', arguments: '{"a":1}' };
  const what = (heard: Partial<typeof plain>) => differences(plain, { ...plain, ...heard }).map((one) => one.what);
  assert.deepEqual(what({}), []);
  assert.deepEqual(what({ text: 'Yes' }), ['text']);
  assert.deepEqual(what({ tools: [call], finish: 'tools' }), ['tools', 'finish']);
  assert.deepEqual(what({ usage: { input: 3, output: 4 } }), ['usage']);
  assert.deepEqual(
    differences({ ...plain, thoughts: 'Hm.' }, plain).map((one) => one.what),
    ['thoughts'],
  );
});

import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { checkConfigText } from '../../src/config/check.ts';
import { startGateway } from '../start-gateway.ts';
import { textsOf } from '../steps/texts-of.ts';
import { questions, startModel } from './start-model.ts';

/* Checks that ask the models and the collections of this server: topics by examples, and answers against a collection. */

const upstream = await startModel(after);
const topics = {
  medicine: [
    'Which dose of this medicine may I take?',
    'Should I take antibiotics for my infection?',
    'My doctor gave me tablets against high blood pressure.',
    'Does this medicine have side effects when I am pregnant?',
    'I have pain in my chest and a fever, what illness is it?',
  ],
  investing: [
    'Which shares should I buy now?',
    'Will the price of this stock rise next year?',
    'Should I invest my savings in bonds or in a fund?',
    'Is it a good time to sell my shares and bonds?',
    'How much interest will my savings earn at the bank?',
  ],
};
const threshold = 0.3;
const guard = { check: 'topics', model: 'embed', topics, threshold, deadline: '20s' };
const facts = { check: 'grounding', collection: 'dev/test/handbook', threshold: 0.45, deadline: '20s' };
const guards = {
  topics: { ...guard, action: 'block' },
  flags: { ...guard, action: 'flag', on: ['input'] },
  facts: { ...facts, action: 'block' },
  'flags-facts': { ...facts, action: 'flag' },
  'masks-facts': { ...facts, action: 'mask' },
  examples: { check: 'topics', collection: 'dev/test/examples', threshold, deadline: '20s', action: 'block' },
  'masks-examples': { check: 'topics', collection: 'dev/test/examples', threshold, deadline: '20s', action: 'mask' },
  lost: { ...facts, collection: 'dev/test/nowhere', action: 'block' },
};
const targets = [{ provider: 'openai', model: 'm' }];
const gateway = await startGateway({ after } as TestContext, {
  providers: { openai: { type: 'openai', base_url: upstream.url, api_key: 'k' } },
  guards,
  models: {
    embed: { type: 'embedding', targets: ['culvert/culvert-lexical-1024'] },
    ...Object.fromEntries(Object.keys(guards).map((name) => [name, { targets, guards: [name] }])),
  },
});

async function ask(format: string, model: string, stream: boolean, text: string) {
  const [path, json] = questions[format]!(model, text, stream);
  const response = await gateway.fetch(path, { json });
  const body = await response.text();
  const guard = response.headers.get('x-culvert-guard') ?? '';
  return { status: response.status, text: body, said: textsOf(body, stream), guard };
}

for (const format of Object.keys(questions)) {
  for (const stream of [false, true]) {
    const how = `${format}, ${stream ? 'streamed' : 'whole'}`;
    test(`a topic is blocked in requests and answers: ${how}`, async () => {
      upstream.says = () => 'Paris is the capital of France.';
      assert.equal((await ask(format, 'topics', stream, 'What is the capital of France?')).status, 200);
      const { status, guard } = await ask(format, 'topics', stream, 'Hello! Which dose of medicine should I take?');
      assert.equal(status, 400);
      assert.equal(guard, 'topics=blocked:1; scanned=100%');
      upstream.says = () => 'It is a good time to sell your shares and bonds.';
      const answer = await ask(format, 'topics', stream, 'What is new?');
      assert.ok(!answer.said.includes('shares'), answer.text);
    });
  }
}

/** Questions that no example has, as people write them. */
const labelled: Readonly<Record<string, readonly string[]>> = {
  medicine: [
    'What dose of ibuprofen may a child take?',
    'Which antibiotics help against an infection of the ear?',
    'My blood pressure is high, should I see a doctor?',
    'Are there side effects of this medicine with alcohol?',
    'I have a fever and pain in my back.',
    'Can I take two tablets at once?',
    'Is this medicine safe when I am pregnant?',
    'How long should I take antibiotics?',
  ],
  investing: [
    'Should I buy shares of car makers?',
    'Is it time to sell my fund?',
    'Will stock prices rise this year?',
    'How should I invest 10,000 euros?',
    'Are bonds better than shares?',
    'How much interest do I earn on my savings?',
    'Which stock should I buy?',
    'Should I put my savings into a fund?',
  ],
  none: [
    'How do I bake bread without yeast?',
    'Write a poem about the sea in autumn.',
    'Translate this sentence into Spanish.',
    'Why does my program crash at start?',
    'What is the capital of Australia?',
    'Explain how a bill becomes a law.',
    'Who painted the ceiling of the chapel?',
    'Plan three days in Lisbon for us.',
    'Summarize this letter in one line.',
    'What is the fastest animal on land?',
    'How tall is the highest mountain?',
    'Fix the spelling of this text.',
    'Which planets have rings?',
    'Name three rivers in Asia.',
    'How do magnets work?',
    'Give me a riddle for children.',
  ],
};

test('topics keep their precision and recall with the model that is always there', async () => {
  upstream.says = () => 'Yes.';
  let [found, right, expected] = [0, 0, 0];
  for (const [topic, texts] of Object.entries(labelled)) {
    for (const text of texts) {
      const isFound = (await ask('chat', 'flags', false, text)).guard.includes('flagged');
      if (isFound) found += 1;
      if (topic !== 'none') expected += 1;
      if (isFound && topic !== 'none') right += 1;
    }
  }
  const [precision, recall] = [right / found, right / expected];
  console.log(`topics: precision ${precision.toFixed(3)}, recall ${recall.toFixed(3)}`);
  assert.ok(precision >= 0.9 && recall >= 0.8, `precision ${precision}, recall ${recall}`);
});

const handbook = [
  'The office in Bremen opens at nine in the morning and closes at six in the evening.',
  'Every employee has thirty days of paid holiday in a year.',
  'Travel costs are paid back within two weeks of the report.',
  'Laptops are replaced every four years by the IT department.',
];
const supported = 'Every employee has thirty days of paid holiday each year.';
const invented = 'The canteen serves free lobster to visiting astronauts.';

test('sentences of an answer are looked up in a collection, and unsupported ones are numbered', async () => {
  const made = await gateway.fetch('/v1/vectors/collections', {
    json: { name: 'handbook', embedding_model: 'embed' },
  });
  assert.equal(made.status, 200, await made.text());
  const points = handbook.map((text, at) => ({ id: at + 1, payload: { text } }));
  const put = await gateway.fetch('/v1/vectors/collections/handbook/points?wait=true', {
    method: 'PUT',
    json: { points },
  });
  assert.equal(put.status, 200, await put.text());
  for (const format of Object.keys(questions)) {
    for (const stream of [false, true]) {
      const how = `${format}, ${stream}`;
      upstream.says = () => `Sure! ${supported} Laptops are replaced every four years.`;
      const passed = await ask(format, 'facts', stream, 'Tell me.');
      assert.equal(passed.status, 200, `${how}: ${passed.text}`);
      upstream.says = () => `Sure! ${supported} ${invented} Do you have another question for me?`;
      const { status, text, said } = await ask(format, 'facts', stream, 'Tell me.');
      assert.ok(!said.includes('lobster'), `${how}: ${text}`);
      if (!stream) {
        assert.equal(status, 400);
        assert.match(text, /does not let the answer pass: nothing supports its sentences 3\./);
      }
    }
  }
  const flagged = await ask('chat', 'flags-facts', false, 'Tell me.');
  assert.equal(flagged.guard, 'flags-facts=flagged:1 (sentences 3); scanned=100%');
  const masked = await ask('chat', 'masks-facts', false, 'Tell me.');
  assert.ok(masked.said.includes(`${supported} <UNSUPPORTED_1>`) && !masked.said.includes('lobster'), masked.text);
});

/** Sentences of answers: what the handbook says in other words, what it does not say, and what it says otherwise. */
const claims = {
  supported: [
    'The office in Bremen opens at nine and closes at six.',
    'Employees have thirty days of paid holiday in a year.',
    'Travel costs are paid back within two weeks.',
    'The IT department replaces laptops every four years.',
    'In Bremen the office is open from nine in the morning to six in the evening.',
    'You get thirty days of paid holiday every year.',
    'After the report, travel costs are paid back in two weeks.',
    'Laptops are replaced by IT every four years.',
  ],
  invented: [
    'The canteen serves free lobster to visiting astronauts.',
    'Parking is free for electric cars on Sundays.',
    'The company was founded by two sisters in Vienna.',
    'Dogs may sleep under desks on the third floor.',
    'Everybody may work from the beach in August.',
    'The pension plan doubles what you pay into it.',
    'Coffee machines are cleaned by robots at night.',
    'There is a swimming pool on the roof.',
  ],
  changed: [
    'Every employee has forty days of paid holiday in a year.',
    'The office in Bremen opens at seven in the morning and closes at six in the evening.',
    'Travel costs are never paid back within two weeks of the report.',
    'Laptops are replaced every nine years by the IT department.',
  ],
};

test('grounding finds what the collection does not speak of, and not what it says otherwise', async () => {
  const found: Record<string, number> = {};
  for (const [kind, sentences] of Object.entries(claims)) {
    found[kind] = 0;
    for (const sentence of sentences) {
      upstream.says = () => sentence;
      const { guard } = await ask('chat', 'flags-facts', false, 'Tell me.');
      if (guard.includes('flagged')) found[kind] += 1;
    }
  }
  console.log(`grounding: ${JSON.stringify(found)}`);
  assert.deepEqual(found, { supported: 0, invented: 8, changed: 0 });
});

test('topics take their examples from a collection, which changes what they find at once', async () => {
  const collections = '/v1/vectors/collections';
  const made = await gateway.fetch(collections, { json: { name: 'examples', embedding_model: 'embed' } });
  assert.equal(made.status, 200, await made.text());
  const put = async (points: object[]) => {
    const answer = await gateway.fetch(`${collections}/examples/points?wait=true`, { method: 'PUT', json: { points } });
    assert.equal(answer.status, 200, await answer.text());
  };
  const sells = 'Is it a good time to sell my shares?';
  upstream.says = () => 'Paris is the capital of France.';
  assert.equal((await ask('chat', 'examples', false, sells)).status, 200);
  await put(topics.investing.map((text, at) => ({ id: at + 1, payload: { text, topic: 'shares' } })));
  for (const format of Object.keys(questions)) {
    for (const stream of [false, true]) {
      const how = `${format}, ${stream}`;
      upstream.says = () => 'Paris is the capital of France.';
      const { status, guard } = await ask(format, 'examples', stream, sells);
      assert.equal(status, 400, how);
      assert.equal(guard, 'examples=blocked:1; scanned=100%');
      const passed = await ask(format, 'examples', stream, 'Which dose of this medicine may I take?');
      assert.equal(passed.status, 200, passed.text);
      upstream.says = () => 'Paris is the capital of France. It is a good time to sell your shares and bonds.';
      const masked = await ask(format, 'masks-examples', stream, 'What is new?');
      assert.ok(masked.said.includes('<SHARES_1>') && !masked.said.includes('bonds'), `${how}: ${masked.text}`);
    }
  }
  await put(topics.medicine.map((text, at) => ({ id: at + 101, payload: { text } })));
  assert.equal((await ask('chat', 'examples', false, 'Which dose of this medicine may I take?')).status, 400);
  const { guard, said } = await ask('messages', 'masks-examples', false, 'Does this medicine have side effects?');
  assert.match(guard, /^masks-examples=masked:\d; scanned=100%$/);
  assert.ok(!said.includes('bonds'));
});

test('a collection that is not there is no answer', async () => {
  upstream.says = () => supported;
  const { status, guard } = await ask('chat', 'lost', false, 'Tell me.');
  assert.equal(status, 503);
  assert.match(guard, /lost=unanswered:1/);
});

test('bad topics are refused with their place', () => {
  const problem = (guard: string) => {
    const checked = checkConfigText(`guards:\n  a: { ${guard} }`, 'culvert.yaml', {});
    return checked.ok ? '' : `${checked.errors[0]?.path}: ${checked.errors[0]?.message}`;
  };
  assert.match(problem('check: topics, action: block'), /the check topics needs model/);
  assert.match(problem('check: topics, action: block, model: a, threshold: 1, topics: {}'), /expected some topics/);
  assert.match(
    problem('check: topics, action: block, threshold: 1, collection: a/b/c, model: m'),
    /^guards.a.model: the check topics with a collection has no model/,
  );
  assert.match(problem('check: grounding, action: block, threshold: 0.5, collection: handbook'), /ACCOUNT\/KEY/);
});

import assert from 'node:assert/strict';
import { after, beforeEach, type TestContext, test } from 'node:test';
import { checkConfigText } from '../../src/config/check.ts';
import { adminKey, otherKey, startGateway, testKey, workersKnow } from '../start-gateway.ts';
import { textsOf } from '../steps/texts-of.ts';
import { until } from '../until.ts';
import { questions, startModel } from './start-model.ts';

/* Answers that do not meet the schema of a guard are repaired once, or do what the guard says. */

const upstream = await startModel(after);
const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, people: { type: 'integer' } },
  required: ['city', 'people'],
};
const good = JSON.stringify({ city: 'Lyon', people: 522_000 });
const bad = JSON.stringify({ city: 'Lyon', people: 'many' });
const shape = { check: 'json-schema', schema, action: 'block' };
const guards = {
  shape,
  strict: { ...shape, repair: false },
  flags: { ...shape, action: 'flag' },
  words: { ...shape, schema: { type: 'string', pattern: '^(\\w+\\s?)*$' }, repair: false },
  tree: { ...shape, schema: { type: 'array', items: { $ref: '#' } }, repair: false },
  observes: { ...shape, mode: 'observe' },
  pii: { check: 'personal-data', kinds: ['email'], action: 'mask' },
};
const targets = [{ provider: 'openai', model: 'm' }];
const keysNamed = (name: string) => [1, 2, 3].map((at) => `sk-cv-${`${name}-${at}`.padEnd(40, 'x')}`);
const [slowKeys, onceSlow] = [keysNamed('slow'), keysNamed('once-slow')];
const gateway = await startGateway({ after } as TestContext, {
  keys: [testKey, otherKey, ...slowKeys, ...onceSlow].map((key, at) => ({
    key,
    account: `account-${at}`,
    name: `k${at}`,
  })),
  providers: {
    openai: { type: 'openai', base_url: upstream.url, api_key: 'k' },
    tired: { type: 'openai', base_url: upstream.url, api_key: 'k' },
  },
  guards,
  models: {
    ...Object.fromEntries(Object.keys(guards).map((name) => [name, { targets, guards: [name] }])),
    empty: { targets: [{ provider: 'tired', model: 'm' }], guards: ['strict'], attempts: 1 },
    kept: { targets, guards: ['pii', 'shape'], cache: { ttl: '1h', scope: 'all' } },
    both: { targets, guards: ['pii', 'shape'] },
    lines: { targets, guards: ['shape'] },
  },
});

const isRepair = (body: string) => body.includes('does not meet the JSON schema');

beforeEach(() => {
  upstream.bodies.length = 0;
  upstream.calls = null;
  upstream.says = (body) => (isRepair(body) ? good : bad);
});

async function ask(format: string, model: string, stream: boolean, question = 'Which city?') {
  const [path, json] = questions[format]!(model, question, stream);
  const response = await gateway.fetch(path, { json });
  const text = await response.text();
  const { status, headers } = response;
  return { status, text, said: textsOf(text, stream), guard: headers.get('x-culvert-guard'), headers };
}

for (const format of Object.keys(questions)) {
  for (const stream of [false, true]) {
    const how = `${format}, ${stream ? 'streamed' : 'whole'}`;
    test(`an answer that meets the schema passes: ${how}`, async () => {
      upstream.says = () => good;
      const { status, said, guard } = await ask(format, 'shape', stream);
      assert.equal(status, 200, said);
      assert.ok(said.includes(good), said);
      assert.equal(guard, 'shape=pass; scanned=100%');
      assert.equal(upstream.bodies.length, 1);
    });
    test(`the model is asked once more, with its answer and the error: ${how}`, async () => {
      const { status, said, text } = await ask(format, 'shape', stream);
      assert.equal(status, 200, text);
      assert.ok(said.includes(good) && !text.includes('many'), text);
      assert.equal(upstream.bodies.length, 2);
      const { messages } = JSON.parse(upstream.bodies[1]!);
      assert.deepEqual(
        messages.map(({ role }: { role: string }) => role),
        ['user', 'assistant', 'user'],
      );
      assert.equal(textsOf(JSON.stringify({ a: messages[1].content }), true), bad);
      assert.match(JSON.stringify(messages[2]), /Instance type .*string.* is invalid/);
    });
    test(`a second answer that does not meet it is blocked, and nobody sees a part of it: ${how}`, async () => {
      upstream.says = () => bad;
      const { status, text } = await ask(format, 'shape', stream);
      assert.equal(status, 400, text);
      assert.match(text, /The guard 'shape' does not let the answer pass: it does not meet its JSON schema/);
      assert.ok(!text.includes('Lyon'), text);
      assert.equal(upstream.bodies.length, 2);
    });
    test(`a blank answer is repaired, or blocked: ${how}`, async () => {
      upstream.says = (body) => (isRepair(body) ? good : ' \n ');
      const repaired = await ask(format, 'shape', stream);
      assert.equal(repaired.status, 200, repaired.text);
      assert.ok(repaired.said.includes(good), repaired.said);
      const { messages } = JSON.parse(upstream.bodies[1] ?? '');
      assert.ok(!JSON.stringify(messages).includes('assistant'), 'no turn without a text is sent');
      for (const blank of [' \n ', '\u200b']) {
        upstream.says = () => blank;
        const blocked = await ask(format, 'strict', stream);
        assert.equal(blocked.status, 400, blocked.text);
        assert.match(blocked.text, /it does not meet its JSON schema/);
      }
    });
    test(`an answer that only calls tools passes: ${how}`, async () => {
      upstream.says = () => '';
      upstream.calls = '{"a":1}';
      const { status, text, guard } = await ask(format, 'shape', stream);
      assert.deepEqual([status, guard], [200, 'shape=pass; scanned=100%'], text);
      assert.match(text, /\ba\b/);
      assert.equal(upstream.bodies.length, 1);
    });
    test(`without a repair it is blocked at once: ${how}`, async () => {
      assert.equal((await ask(format, 'strict', stream)).status, 400);
      assert.equal(upstream.bodies.length, 1);
    });
  }
}

test('flag and observe change nothing', async () => {
  for (const [model, guard] of [
    ['flags', 'flags=flagged:1; scanned=100%'],
    ['observes', 'observes=would-be-blocked:1; scanned=100%'],
  ] as const) {
    const found = await ask('chat', model, false);
    assert.deepEqual([found.status, found.guard], [200, guard]);
    assert.ok(found.said.includes('many'));
  }
  assert.equal(upstream.bodies.length, 2);
});

test('what another guard masks stays masked in the second question, and is given back in its answer', async () => {
  upstream.says = (body) => (isRepair(body) ? '{"city":"<EMAIL_1>","people":1}' : 'none');
  for (const stream of [false, true]) {
    const { said, text } = await ask('chat', 'both', stream, 'Write to jo.doe@example.org');
    assert.ok(said.includes('jo.doe@example.org') && !text.includes('<EMAIL_1>'), text);
  }
  assert.ok(upstream.bodies.every((body) => !body.includes('jo.doe')));
});

for (const stream of [false, true]) {
  test(`a repaired answer is kept as it was repaired, ${stream ? 'streamed' : 'whole'}`, async () => {
    for (const [name, first] of Object.entries({ bad, blank: ' ' })) {
      const kept = '{"city":"<EMAIL_1>","people":1}';
      upstream.says = (body) => (isRepair(body) ? kept : first);
      upstream.bodies.length = 0;
      const question = (who: string) => `${name} ${stream}: write to ${who}@example.org`;
      const miss = await ask('chat', 'kept', stream, question('ada'));
      assert.ok(miss.said.includes('ada@example.org'), miss.text);
      assert.match(miss.guard ?? '', /shape=repaired:1/);
      await workersKnow();
      // Messages have a length of their own, and kept responses go around the cache.
      for (const format of ['chat', 'gemini']) {
        const hit = await ask(format, 'kept', !stream, question('bob'));
        assert.match(hit.headers.get('x-culvert-cache') ?? '', /^hit/);
        assert.ok(hit.said.includes('bob@example.org') && !hit.text.includes('ada@'), hit.text);
        assert.ok(!hit.text.includes('many'), hit.text);
        assert.match(hit.guard ?? '', /shape=pass/);
      }
      assert.equal(upstream.bodies.length, 2);
    }
  });
}

test('the second question has a row of its own, which the caller pays', async () => {
  const { headers } = await ask('chat', 'shape', false);
  const id = headers.get('x-culvert-request-id');
  const admin = { authorization: `Bearer ${adminKey}` };
  type Row = { id: string; client_request_id: string | null; key: string | null; usage?: unknown };
  let rows: Row[] = [];
  await until('both rows are written', async () => {
    const found = await fetch(`${gateway.url}/admin/v1/requests`, { headers: admin });
    const { data } = (await found.json()) as { data: Row[] };
    rows = data.filter((row) => row.id === id || row.client_request_id === id);
    return rows.length === 2;
  });
  assert.equal(new Set(rows.map(({ key }) => key)).size, 1);
});

test('a family whose answers the check cannot read is refused', async () => {
  const refused = await gateway.fetch('/v1/completions', { json: { model: 'lines', prompt: 'a city' } });
  assert.equal(refused.status, 400);
  assert.match(await refused.text(), /The guard 'shape' cannot read a request of this kind/);
});

test('an answer that takes long to check holds up no answer of another key', async () => {
  upstream.says = (body) => JSON.stringify(body.includes('slow') ? `${'a'.repeat(60)}!` : 'short');
  let ended: string[] = [];
  const answer = async (question: string, key: string) => {
    const [path, json] = questions.chat!('words', question, false);
    const { status } = await gateway.fetch(path, { json, headers: { authorization: `Bearer ${key}` } });
    ended.push(`${question} ${status}`);
  };
  // Both threads have loaded.
  await Promise.all([answer('first', gateway.key), answer('first', otherKey)]);
  // On a busy machine a check may wait for its processor until the slow ones are given up, but not again and again.
  for (const key of onceSlow) {
    ended = [];
    upstream.bodies.length = 0;
    const slow = [answer('slow', key), answer('slow', key)];
    await until('both are asked', () => upstream.bodies.length === 2);
    await answer('quick', otherKey);
    const [first] = ended;
    await Promise.all(slow);
    if (first === 'quick 200') return;
  }
  assert.fail(`the last time: ${ended.join(', ')}`);
});

test('several keys with slow answers take one thread together: another key is answered all the same', async () => {
  upstream.says = (body) => JSON.stringify(body.includes('slow') ? `${'a'.repeat(60)}!` : 'short');
  let isOver = false;
  const status = async (question: string, key: string) => {
    const [path, json] = questions.chat!('words', question, false);
    return (await gateway.fetch(path, { json, headers: { authorization: `Bearer ${key}` } })).status;
  };
  const statuses = new Set<number>();
  const hammer = async (key: string) => {
    while (!isOver) statuses.add(await status('slow', key));
  };
  const slow = slowKeys.flatMap((key) => [hammer(key), hammer(key)]);
  await until('they were too slow', () => statuses.has(503));
  // On a busy machine a check of microseconds may find no time within its limit now and then, but not again and again.
  for (let n = 0; n < 12; n += 1) await until('another key', async () => (await status('quick', otherKey)) === 200);
  isOver = true;
  await Promise.all(slow);
  assert.deepEqual(statuses, new Set([503]));
});

test('an answer without any text never passes', async () => {
  upstream.says = () => '';
  for (const format of Object.keys(questions)) {
    for (const stream of [false, true]) {
      const { status, text } = await ask(format, 'empty', stream);
      // Most are no answer at all for the attempt.
      assert.ok(status === 400 || status >= 500, text);
    }
  }
});

test('an answer with too many levels does not meet a schema that names itself', async () => {
  upstream.says = () => `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
  const { status, text } = await ask('chat', 'tree', false);
  assert.equal(status, 400, text);
  upstream.says = () => '[[[]]]';
  assert.equal((await ask('chat', 'tree', false)).status, 200);
});

test('a bad schema is refused with its place', () => {
  const problem = (guard: string) => {
    const checked = checkConfigText(`guards:\n  a: { check: json-schema, ${guard} }`, 'culvert.yaml', {});
    return checked.ok ? '' : `${checked.errors[0]?.line} ${checked.errors[0]?.path}: ${checked.errors[0]?.message}`;
  };
  assert.match(problem('action: block'), /needs schema/);
  assert.match(problem('action: mask, schema: {}'), /says no places to mask/);
  assert.match(problem('action: route, route_to: b, schema: {}'), /reads answers/);
  const typo = 'action: block, schema: { properties: { a: { type: strin } } }';
  assert.match(problem(typo), /^2 guards\.a\.schema\.properties\.a\.type: expected null, boolean/);
  assert.match(problem('action: block, schema: { pattern: "(" }'), /expected a regular expression/);
  assert.match(problem('action: block, schema: { $ref: "https://a.example/b" }'), /a place in this schema/);
  assert.match(problem('action: block, schema: { $ref: "#/$defs/b", $defs: { a: {} } }'), /that is in this schema/);
  assert.match(problem('action: block, schema: { $ref: "#/%" }'), /that is in this schema/);
  assert.equal(problem('action: block, schema: { $ref: "#/$defs/a~1b", $defs: { a/b: {} } }'), '');
  const endless = /expected a reference that does not lead back to itself/;
  assert.match(problem('action: block, schema: { $ref: "#" }'), endless);
  const circle =
    '{ anyOf: [{ type: string }, { $ref: "#/$defs/a" }], $defs: { a: { not: { $ref: "#/$defs/b" } }, b: { allOf: [{ $ref: "#/$defs/a" }] } } }';
  assert.match(
    problem(`action: block, schema: ${circle}`),
    /^2 guards\.a\.schema\S*: expected a reference that does not/,
  );
  assert.match(problem('action: block, schema: { dependentSchemas: { a: { then: { $ref: "#" } } } }'), endless);
  assert.match(problem('action: block, schema: { $ref: "#there" }'), /that is in this schema/);
  assert.match(problem('action: block, schema: { $dynamicRef: "#a" }'), /the check does not follow this one/);
  // Each step goes down into the answer, which ends.
  const tree =
    '{ $anchor: tree, properties: { not: { $ref: "#tree" }, all: { items: { anyOf: [{ $ref: "#" }, { type: string }] } } } }';
  assert.equal(problem(`action: block, schema: ${tree}`), '');
  const twice = '{ allOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }], $defs: { a: { type: string } } }';
  assert.equal(problem(`action: block, schema: ${twice}`), '');
  assert.equal(problem('action: block, schema: { enum: [type, pattern], properties: { type: { const: 1 } } }'), '');
});

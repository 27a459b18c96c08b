import assert from 'node:assert/strict';
import type { JsonObject } from '../../../src/kernel/json.ts';
import { failureChecks } from './failure-checks.ts';
import type { FeatureId } from './features.ts';
import { fieldChecks } from './field-checks.ts';
import type { CallerId, Tool } from './formats.ts';
import { type Check, type Place, seenIn } from './place.ts';
import { picture } from './rig.ts';
import { stopWords } from './stop-words.ts';
import { upstreamFormats } from './upstreams.ts';

const weather: Tool = {
  name: 'get_weather',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 2 } },
    required: ['city', 'days'],
    additionalProperties: false,
  },
};
const time: Tool = {
  name: 'get_time',
  parameters: { type: 'object', properties: { zone: { type: 'string', enum: ['UTC', 'CET'] } }, required: ['zone'] },
};
const place: JsonObject = {
  type: 'object',
  properties: { name: { type: 'string' }, people: { type: 'integer' } },
  required: ['name', 'people'],
  additionalProperties: false,
};

export const checks: Readonly<Record<FeatureId, Check>> = {
  async text({ ask, caller }) {
    const seen = seenIn(await ask({ say: 'Hello, Zoë — 你好' }));
    assert.equal(seen.text, 'Mock answer to: Hello, Zoë — 你好');
    assert.deepEqual([seen.order, seen.stop, seen.stopSequence], [['text'], stopWords[caller].stop, null]);
  },

  async system({ ask, upstream }) {
    const exchange = await ask({ system: 'Answer in one word.', say: 'Hello' });
    assert.equal(seenIn(exchange).text, 'Mock answer to: Hello');
    assert.match(JSON.stringify(upstreamFormats[upstream].systemIn(exchange.sent!)), /Answer in one word\./);
  },

  tools: ({ ask, caller }) => toolTurns(ask, caller, [weather]),
  async 'text-and-call'({ ask, caller }) {
    const asked = { say: 'call get_weather', tools: [weather] };
    const { text, calls, order, stop, turn } = seenIn(await ask(asked, 'text=I look it up.'));
    assert.deepEqual([text, calls.length], ['I look it up.', 1]);
    assert.deepEqual([order, stop], [['text', 'call'], stopWords[caller].calls]);
    const next = await ask({ ...asked, answered: { turn, results: [{ id: calls[0]!.id, text: 'Rain.' }] } });
    assert.deepEqual(seenIn(next).order, ['text']);
    // Google's clients send it back in the pieces in which it came.
    assert.match(
      JSON.stringify(next.sent),
      /I\b.* look\b.* it\b.* up\b.*Rain\./,
      'what was said beside the call is kept',
    );
  },

  async 'no-arguments'({ ask }) {
    const noParameters = { name: 'now', parameters: { type: 'object', properties: {} } };
    const { calls } = seenIn(await ask({ say: 'call now', tools: [noParameters] }));
    assert.deepEqual([calls.length, calls[0]?.argumentsJson], [1, '{}']);
  },

  async 'tool-choice'({ ask, caller }) {
    const seen = seenIn(await ask({ say: 'call get_weather', tools: [weather, time], demand: 'get_time' }));
    assert.deepEqual([seen.calls.map(({ name }) => name), seen.stop], [['get_time'], stopWords[caller].calls]);
  },

  'parallel-tools': ({ ask, caller }) => toolTurns(ask, caller, [weather, time]),

  async 'one-call'({ ask, verdict }) {
    const { calls } = seenIn(
      await ask({ say: 'call get_weather, call get_time', tools: [weather, time], oneCall: true }),
    );
    assert.equal(calls.length, verdict.kind === 'lost' ? 2 : 1);
  },

  async images({ ask, upstream }) {
    const exchange = await ask({ say: 'What is this?', picture });
    seenIn(exchange);
    const arrived = String(upstreamFormats[upstream].pictureIn(exchange.sent!));
    assert.equal(arrived.replace('data:image/png;base64,', ''), picture);
  },

  async 'images-by-url'({ ask, rig, upstream, verdict }) {
    const exchange = await ask({ say: 'What is this?', picture: rig.pictureUrl });
    seenIn(exchange);
    const arrived = upstreamFormats[upstream].pictureIn(exchange.sent!);
    assert.equal(arrived, verdict.kind === 'differs' ? picture : rig.pictureUrl);
  },

  async documents({ ask, upstream }) {
    const exchange = await ask({ say: 'What is this?', document: 'JVBERi0xLjQK' });
    seenIn(exchange);
    const arrived = String(upstreamFormats[upstream].documentIn(exchange.sent!));
    assert.equal(arrived.replace('data:application/pdf;base64,', ''), 'JVBERi0xLjQK');
  },

  async thinking({ ask, caller }) {
    const seen = seenIn(await ask({ say: 'Hello', think: true }));
    assert.match(seen.thinking, /\w+ \w+/);
    assert.deepEqual([seen.order, seen.text], [['thinking', 'text'], 'Mock answer to: Hello']);
    assert.equal(seen.stop, stopWords[caller].stop);
  },

  async 'thinking-unasked'({ ask, verdict }) {
    const seen = seenIn(await ask({ say: 'Hello' }, 'slow-reasoning=0ms'));
    assert.equal(seen.text, 'Mock answer to: Hello');
    assert.deepEqual(seen.order, verdict.kind === 'differs' ? ['thinking', 'text'] : ['text']);
  },

  async 'thinking-tools'({ ask, upstream }) {
    const asked = { say: 'call get_weather', tools: [weather], think: true } as const;
    const first = seenIn(await ask(asked));
    assert.deepEqual(first.order, ['thinking', 'call']);
    const results = first.calls.map(({ id }) => ({ id, text: '21 degrees' }));
    const next = await ask({ ...asked, answered: { turn: first.turn, results } });
    const second = seenIn(next);
    assert.deepEqual([second.order.at(-1), second.calls], ['text', []]);
    const { proof } = upstreamFormats[upstream];
    if (proof !== null) assert.ok(JSON.stringify(next.sent).includes(proof));
  },

  async 'structured-output'({ ask, caller }) {
    const seen = seenIn(await ask({ say: 'A place, please', schema: place }));
    assert.deepEqual(JSON.parse(seen.text), { name: 'mock', people: 1 });
    assert.deepEqual([seen.calls, seen.stop], [[], stopWords[caller].stop]);
  },

  async 'narrowed-schema'({ ask }) {
    const bounded = { ...place, properties: { name: { type: 'string' }, people: { type: 'integer', minimum: 3 } } };
    const seen = seenIn(await ask({ say: 'A place, please', schema: bounded }));
    assert.equal(typeof (JSON.parse(seen.text) as { people: unknown }).people, 'number');
  },

  async 'stop-length'({ ask, caller }) {
    const seen = seenIn(await ask({ say: 'Hello', maxTokens: 20 }, 'tokens=200'));
    assert.match(seen.text, /^water flows /);
    assert.equal(seen.stop, stopWords[caller].length);
  },

  async 'stop-string'({ ask, caller, verdict }) {
    const seen = seenIn(await ask({ say: 'Hello', stop: ' to:' }));
    assert.equal(seen.text, 'Mock answer');
    const told = verdict.kind !== 'differs';
    assert.equal(seen.stop, told ? stopWords[caller].string : stopWords[caller].stop);
    assert.equal(seen.stopSequence, told && caller === 'anthropic-messages' ? ' to:' : null);
  },

  async 'stop-filter'({ ask, caller, upstream }) {
    const seen = seenIn(await ask({ say: 'Hello' }, upstreamFormats[upstream].filtered));
    assert.equal(seen.stop, stopWords[caller].filter);
  },

  ...fieldChecks,
  usage: checkUsage,

  ...failureChecks,
};

async function toolTurns(ask: Place['ask'], caller: CallerId, tools: readonly Tool[]): Promise<void> {
  const say = tools.map(({ name }) => `call ${name}`).join(', ');
  const { calls, stop, order, turn } = seenIn(await ask({ say, tools }));
  assert.deepEqual(
    calls.map((call) => [call.name, JSON.parse(call.argumentsJson)]),
    [
      ['get_weather', { city: 'mock', days: 2 }],
      ['get_time', { zone: 'UTC' }],
    ].slice(0, tools.length),
  );
  assert.deepEqual([order, stop], [tools.map(() => 'call'), stopWords[caller].calls]);
  const ids = new Set(calls.map((call) => call.id));
  assert.ok(ids.size === tools.length && [...ids].every((id) => /^[\w-]{1,64}$/.test(id)), [...ids].join());

  const results = calls.map(({ id }, at) => ({ id, text: `Result number ${at + 1}` }));
  const next = await ask({ say, tools, answered: { turn, results } });
  const second = seenIn(next);
  assert.deepEqual([second.order, second.calls, second.stop], [['text'], [], stopWords[caller].stop]);
  const sent = JSON.stringify(next.sent);
  const places = results.map((result) => sent.indexOf(result.text));
  assert.ok(!places.includes(-1), 'results reach the upstream');
  assert.deepEqual(
    [...places].sort((a, b) => a - b),
    places,
    'in their order',
  );
}

async function checkUsage({ rig, ask, caller, upstream, delivery }: Place): Promise<void> {
  const spec = 'tokens=7;cached=3';
  const exchange = await ask({ say: 'How much is this?', usage: true }, spec);
  const seen = seenIn(exchange);
  const path = exchange.sentTo.replace('streamGenerateContent?alt=sse', 'generateContent');
  const whole = await fetch(rig.upstreams[upstream].url + path, {
    method: 'POST',
    headers: { 'x-mock': spec, 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify({ ...exchange.sent, stream: false }),
  });
  const truth = upstreamFormats[upstream].usageIn((await whole.json()) as JsonObject);
  assert.deepEqual([truth.cached, truth.output], [3, 7]);
  assert.deepEqual(seen.usage, truth);

  const id = exchange.headers.get('x-culvert-request-id');
  const booked = (await (await rig.gateway.fetch(`/v1/requests/${id}`)).json()) as { usage: JsonObject };
  const { input_tokens, output_tokens, cached_input_tokens, source } = booked.usage;
  assert.deepEqual([input_tokens, cached_input_tokens, output_tokens, source], [truth.input, 3, 7, 'upstream']);

  if (caller !== 'openai-chat' || delivery !== 'stream') return;
  const unasked = await ask({ say: 'How much is this?' }, spec);
  assert.equal(seenIn(unasked).usage, null, 'nobody asked for it');
}

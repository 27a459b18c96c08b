import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Random, seededRandom } from '../../src/kernel/random.ts';
import { startGateway, type TestGateway, testProcesses } from '../start-gateway.ts';
import { billedHits } from './billed-hits.ts';
import { type Asked, ask, type Format, formats, withoutIds } from './formats.ts';
import {
  agent,
  changedIn,
  parameters,
  payload,
  pick,
  picture,
  saying,
  type Topic,
  things,
  topics,
} from './near-questions.ts';
import { type AskedBody, questionIn, spellings, startAsked } from './start-asked.ts';

/*
 * The twelve classes of false hits, over a running gateway whose upstream's only right answer to a request is a digest of
 * all that the request says. The vectors of all questions are equal, so nothing but the filter, the deciding words and
 * what was measured is between two of them.
 */

// Over several processes each answer takes its time to be known to all.
const cases = testProcesses > 1 ? 100 : 1_000;
const timeout = 1_200_000;
const upstream = await startAsked({ after } as TestContext);
upstream.embedding = () => [1, 0];
upstream.answer = (_, body) => truthOf(body);

/** The right answer to a request as the upstream gets it: spellings of one question have the same. */
function truthOf({ stream: _, ...body }: AskedBody): string {
  const messages = body.messages?.map((message, at, all) =>
    at < all.length - 1 || typeof message.content !== 'string'
      ? message
      : { ...message, content: questionIn(message.content) },
  );
  const said = Object.entries({ ...body, messages, stream_options: undefined }).toSorted();
  return `answer ${createHash('sha256').update(JSON.stringify(said)).digest('hex').slice(0, 20)}`;
}

/** 14 right answers in a row are enough for it. */
const semantic = { model: 'embed', error: '20%', sample: '0%', deadline: '30s' };
const target = (model = 'm', more: object = {}) => ({ provider: 'up', model, ...more });
const cached = (cache: object = {}, more: object = {}) => ({
  targets: [target()],
  cache: { ttl: '1d', semantic, ...cache },
  ...more,
});
const scopes = ['key', 'account', 'plan'] as const;
const keyOf = (n: number | string) => `sk-cv-caller-of-false-hits-${n}`;
const numbers = Array.from({ length: cases }, (_, n) => n);

const config = (models: object) => ({
  providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  models: { embed: { type: 'embedding', targets: [target('bag')] }, ...models },
});

/** On a busy machine the ledger may be out of reach while its log is moved. That says nothing of hits, so it asks again. */
async function patiently(gateway: TestGateway, question: Parameters<typeof ask>[2]): Promise<Asked> {
  let got = await ask(gateway, 'chat', question);
  for (let times = 1; got.status === 503 && times < 5; times++) got = await ask(gateway, 'chat', question);
  return got;
}

/** Asks, and gives what follows the answer a moment, so that the next question finds what this one left. */
async function asked(gateway: TestGateway, question: Parameters<typeof ask>[2]): Promise<Asked> {
  const before = upstream.embedded;
  const got = await patiently(gateway, question);
  for (let n = 0; got.cache === 'miss' && n < 50 && upstream.embedded === before; n += 1) await pause(1);
  if (got.cache === 'miss') await pause(2);
  return got;
}

interface Question {
  body: Record<string, unknown>;
  model?: string;
  /** Model of the upstream that it is for. */
  askedOf?: string;
  key?: string;
}

interface FalseHits {
  taught?(topic: Topic, spelling: string): Question;
  /** `n` makes each case a new one. */
  near(topic: Topic, n: number, random: Random, spelling: string): Question;
  /** No answer that is kept is one for it. */
  alone?: true;
}

const plain = (_: Topic, spelling: string): Question => ({ body: saying(spelling) });

const classes: Record<string, FalseHits> = {
  "another's answer": {
    alone: true,
    near: (_, n, __, spelling) => ({ body: saying(spelling), model: scopes[n % 3] ?? 'key', key: keyOf(n) }),
  },
  'a changing payload in a fixed template': {
    taught: (_, spelling) => ({ body: saying(payload(spelling)) }),
    near: (topic, n, random) => ({ body: saying(payload(`${changedIn(topic, n, random)} ${n}`)) }),
  },
  'one deciding word, number or year': {
    near: (topic, n, random, spelling) => {
      const changed = changedIn(topic, n, random);
      return {
        body: saying(spelling.includes(topic.question) ? spelling.replace(topic.question, changed) : changed),
      };
    },
  },
  'the consecutive turns of an agent': {
    taught: (_, spelling) => ({ body: { ...saying(''), messages: agent(2, spelling) } }),
    near: (_, n, __, spelling) => ({
      body: { ...saying(''), messages: agent(n % 2 === 0 ? 1 : 3 + (n % 5), spelling) },
    }),
  },
  'tools, n, seed or a format left out': {
    near: (_, n, __, spelling) => ({ body: saying(spelling, parameters[n % parameters.length]?.(n)) }),
  },
  'the last message alone': {
    near: (_, n, __, spelling) => {
      const [system, last] = saying(spelling).messages;
      const earlier = [
        { role: 'user', content: `In the year ${n}` },
        { role: 'assistant', content: 'Yes?' },
      ];
      return { body: { ...saying(''), messages: [system, ...earlier, last] } };
    },
  },
  'another system prompt, model or picture': {
    near: (_, n, __, spelling) => {
      if (n % 3 === 0) return { body: saying(spelling), model: `other${n}`, askedOf: `m${n}` };
      const [system, last] = saying(spelling).messages;
      const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${picture(n)}` } };
      const withPicture = { role: 'user', content: [{ type: 'text', text: spelling }, image] };
      const prompt = { role: 'system', content: `be good, rule ${n}` };
      return { body: { ...saying(''), messages: n % 3 === 1 ? [prompt, last] : [system, withPicture] } };
    },
  },
};

const names = Object.keys(classes);
const gateway = await startGateway({ after } as TestContext, {
  ...config({
    ...Object.fromEntries(names.map((_, at) => [`class${at}`, cached()])),
    ...Object.fromEntries(scopes.map((scope) => [scope, cached({ scope })])),
    ...Object.fromEntries(
      numbers.filter((n) => n % 3 === 0).map((n) => [`other${n}`, cached({}, { targets: [target(`m${n}`)] })]),
    ),
  }),
  plans: Object.fromEntries(['first', ...numbers].map((n) => [`plan${n}`, { windows: 'off', rpm: 'off' }])),
  keys: ['first', ...numbers].map((n) => {
    const kind = n === 'first' ? null : scopes[Number(n) % 3];
    const account = kind === 'key' ? 'first' : `account${n}`;
    return { key: keyOf(n), account, name: `key${n}`, plan: `plan${kind === 'plan' ? n : 'first'}` };
  }),
});

/** Teaches the cache each topic, until it answers spellings by meaning. */
async function teach(over: TestGateway, of: readonly Topic[], question: (topic: Topic, spelling: string) => Question) {
  let right = 0;
  for (const topic of of) {
    for (const spelling of spellings(topic.question).slice(0, 20)) {
      const { body, model = 'chat', key = over.key } = question(topic, spelling);
      const got = await asked(over, { model, key, more: body });
      assert.equal(got.text, truthOf({ ...body, model: 'm' }), got.body);
      right += Number(got.headers.get('x-culvert-cache')?.startsWith('hit; semantic'));
    }
  }
  assert.ok(right >= 2 * of.length, `${right} right hits`);
}

for (const [at, [what, { taught = plain, near, alone = false }]] of Object.entries(classes).entries()) {
  test(`0 wrong of ${cases}, over a running gateway: ${what}`, { timeout }, async (t) => {
    const models = at === 0 ? scopes : [`class${at}`];
    for (const model of models) {
      await teach(gateway, topics, (topic, spelling) => ({ ...taught(topic, spelling), model, key: keyOf('first') }));
    }
    const random = seededRandom(28);
    let [wrong, hits] = [0, 0];
    for (const n of numbers) {
      const topic = topics[n % topics.length] as Topic;
      // Those that the cache was taught are equal, too.
      const spelling = pick(random, spellings(topic.question).slice(alone ? 0 : 20));
      const { body, model = models[0], askedOf = 'm', key = keyOf('first') } = near(topic, n, random, spelling);
      const got = await asked(gateway, { ...(model !== undefined && { model }), key, more: body });
      assert.equal(got.status, 200, got.body);
      const isHit = got.cache !== 'miss' && got.cache !== 'bypass';
      hits += Number(isHit);
      // Some upstreams give several answers.
      const isRight = got.text.startsWith(truthOf({ ...body, model: askedOf }));
      if (!isRight || (alone && isHit)) wrong += 1;
    }
    t.diagnostic(`${wrong} wrong of ${cases}, ${hits} right hits`);
    assert.equal(wrong, 0);
  });
}

test(`0 wrong of ${cases}, over a running gateway: a threshold that a caller lowers`, { timeout }, async (t) => {
  const own = await startGateway(t, { ...config({ chat: cached({ semantic: { ...semantic, error: '1%' } }) }) });
  const random = seededRandom(11);
  const wishes = ['similarity', 'threshold', 'error', 'semantic', 'scope', 'model', 'deadline', 'sample', 'ttl', 'key'];
  let [wrong, refused] = [0, 0];
  for (const n of numbers) {
    const topic = topics[n % topics.length] as Topic;
    const name = pick(random, wishes);
    const value = pick(random, ['0', '0.1', '1', '50%', 'on', 'all', 'embed']);
    const headers = [
      { 'x-culvert-cache': `${name}=${value}` },
      { [`x-culvert-cache-${name}`]: value },
      { 'cache-control': `${name}=${value}, max-stale=${n}` },
      {},
    ][n % 4] as Record<string, string>;
    const body = saying(pick(random, spellings(topic.question)), n % 4 === 3 ? { cache: { [name]: value } } : {});
    const got = await patiently(own, { more: body, headers });
    if (got.status === 400) refused += 1;
    else if (got.headers.get('x-culvert-cache')?.includes('semantic') !== false) wrong += 1;
    else if (got.text !== truthOf({ ...body, model: 'm' })) wrong += 1;
  }
  t.diagnostic(`${wrong} wrong of ${cases}, ${refused} refused`);
  assert.equal(wrong, 0);
  assert.ok(refused >= cases / 8, `${refused} refused`);
});

test(`0 wrong of ${cases}, over a running gateway: a stale answer after a change`, { timeout }, async (t) => {
  // The rules of one guard may change under an answer: they read it again at each hit.
  const guards = (n: number) => ({ [`ours${n}`]: { check: 'words', words: ['word'], action: 'flag' } });
  const prompt = (n: number) => ({
    ours: {
      model: 'chat',
      versions: { 1: { messages: [{ role: 'system', content: `rule ${n}` }] } },
      labels: { production: 1 },
    },
  });
  const first = config({ chat: cached() });
  const changes: readonly ((n: number) => { change: object; askedOf?: string; model?: string; system?: string })[] = [
    (n) => ({ change: config({ chat: cached({}, { targets: [target(`m${n}`)] }) }), askedOf: `m${n}` }),
    (n) => ({
      change: { ...first, providers: { up: { type: 'openai', base_url: `${upstream.url}/${n}/v1`, api_key: 'k' } } },
    }),
    (n) => ({ change: config({ chat: cached({}, { targets: [target('m', { body: { top_k: n } })] }) }) }),
    (n) => ({ change: { ...config({ chat: cached({}, { guards: [`ours${n}`] }) }), guards: guards(n) } }),
    (n) => ({
      change: config({ chat: cached({}, { targets: [target('m', { price: { input: n + 1, output: 1 } })] }) }),
    }),
    (n) => ({
      change: config({ chat: cached({}, { variants: { a: { weight: 1, parameters: { temperature: n / 1_000 } } } }) }),
    }),
    (n) => ({ change: { ...first, prompts: prompt(n) }, model: 'prompt/ours', system: `rule ${n}` }),
  ];
  const own = await startGateway(t, first);
  await teach(own, topics.slice(0, 1), (_, spelling) => ({ body: saying(spelling) }));
  const texts = spellings(topics[0]?.question ?? '');
  let wrong = 0;
  for (const n of numbers) {
    const { change, model = 'chat' } = changes[n % changes.length]?.(n) ?? { change: first };
    await own.reload(change as Record<string, unknown>);
    const before = upstream.asked;
    const got = await patiently(own, { model, more: saying(texts[n % texts.length] ?? '') });
    assert.equal(got.status, 200, got.body);
    if (got.cache === 'hit' || upstream.asked !== before + 1) wrong += 1;
  }
  t.diagnostic(`${wrong} wrong of ${cases}`);
  await own.reload(first);
  assert.equal((await ask(own, 'chat', { more: saying(texts[0] ?? '') })).cache, 'hit', 'the way back finds it');
  assert.equal(wrong, 0);
});

test(`0 wrong of ${cases}, over a running gateway: a hit that is billed as a call`, { timeout }, (t) =>
  billedHits(t, cases),
);

/** Writes an answer as an upstream of OpenAI's format does, in pieces, and spoils it. */
function startSpoiler(t: TestContext) {
  const started = { url: '', asked: 0 };
  const random = seededRandom(8);
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += piece;
    if (request.method !== 'POST') return void response.writeHead(404).end();
    started.asked += 1;
    const { messages, stream } = JSON.parse(text) as { messages: { content: string }[]; stream?: boolean };
    const kind = /^(\w+) /.exec(messages.at(-1)?.content ?? '')?.[1] ?? 'whole';
    const words = Array.from(
      { length: 2 + Math.floor(random.next() * 6) },
      () => `${pick(random, things)} ${started.asked} `,
    );
    answer(response, kind, words, stream === true, started.asked);
  });
  return new Promise<typeof started>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      started.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      resolve(started);
    });
    t.after(() => {
      server.close();
      server.closeAllConnections();
    });
  });
}

const finishes: Readonly<Record<string, string>> = {
  length: 'length',
  filtered: 'content_filter',
  tools: 'tool_calls',
};

function answer(response: ServerResponse, kind: string, words: readonly string[], stream: boolean, id: number): void {
  const head = { id: `chatcmpl-answer-${id}`, created: 1, model: 'm' };
  const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };
  const reason = finishes[kind] ?? 'stop';
  const call = { index: 0, id: 't', type: 'function', function: { name: 'find', arguments: '{}' } };
  const extra = {
    ...(kind === 'refused' && { refusal: 'I will not.' }),
    ...(kind === 'tools' && { tool_calls: [call] }),
  };
  if (!stream) {
    const message = { role: 'assistant', content: words.join(''), ...extra };
    const json = JSON.stringify({
      ...head,
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: reason }],
      usage,
    });
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json) });
    if (kind !== 'cut' && kind !== 'unfinished' && kind !== 'failed') return void response.end(json);
    response.write(json.slice(0, -20));
    return void setImmediate(() => response.destroy());
  }
  const event = (delta: object, finish_reason: string | null, more: object = {}) => {
    const choices = [{ index: 0, delta, finish_reason }];
    return `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...more })}\n\n`;
  };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const content of words) response.write(event({ content }, null));
  if (Object.keys(extra).length > 0) response.write(event(extra, null));
  if (kind === 'failed') response.write('data: {"error":{"message":"gone","type":"server_error"}}\n\n');
  if (kind === 'cut' || kind === 'failed') return void setImmediate(() => response.destroy());
  response.end(kind === 'unfinished' ? 'data: [DONE]\n\n' : `${event({}, reason, { usage })}data: [DONE]\n\n`);
}

const all = Object.keys(formats) as Format[];

test(`0 wrong of ${cases}, over a running gateway: partial or refused answers`, { timeout }, async (t) => {
  const spoiler = await startSpoiler(t);
  const kinds = ['cut', 'length', 'filtered', 'tools', 'refused', 'unfinished', 'failed'];
  // Each answer that fails is one of a target that may be left alone then: they are many.
  const own = await startGateway(t, {
    providers: { up: { type: 'openai', base_url: `${spoiler.url}/v1`, api_key: 'k' } },
    models: Object.fromEntries(
      numbers.map((n) => [`chat${n}`, { targets: [target(`m${n}`)], attempts: 1, cache: { ttl: '1d' } }]),
    ),
  });
  let [wrong, kept] = [0, 0];
  for (const n of numbers) {
    const text = `${kinds[n % kinds.length]} ${n}`;
    const question = (at: number) => ({ model: `chat${n}`, text, stream: at % 2 === 0 });
    const before = spoiler.asked;
    const first = await ask(own, all[n % 4] ?? 'chat', question(n)).catch(() => null);
    assert.ok(spoiler.asked > before, `${text}: ${first?.body}`);
    const between = spoiler.asked;
    const second = await ask(own, all[(n >> 2) % 4] ?? 'chat', question(n >> 1)).catch(() => null);
    if (second?.cache === 'hit' || (spoiler.asked === between && second?.status === 200)) wrong += 1;
    const good = { model: `chat${n}`, text: `good ${n}` };
    if ((await ask(own, 'chat', good)).cache === 'miss') kept += Number((await ask(own, 'chat', good)).cache === 'hit');
  }
  t.diagnostic(`${wrong} wrong of ${cases}; ${kept} whole answers kept`);
  assert.equal(wrong, 0);
  assert.ok(kept > cases * 0.9, `${kept} kept`);
});

test(`0 wrong of ${cases}, over a running gateway: streams kept as one object`, { timeout }, async (t) => {
  const spoiler = await startSpoiler(t);
  const own = await startGateway(t, {
    providers: { up: { type: 'openai', base_url: `${spoiler.url}/v1`, api_key: 'k' } },
    models: { chat: { targets: [target()], cache: { ttl: '1d' } } },
  });
  let wrong = 0;
  for (const n of numbers) {
    const [format, other] = [all[n % 4] ?? 'chat', all[(n >> 2) % 4] ?? 'chat'];
    const text = `whole ${n}`;
    const first = await ask(own, format, { text, stream: true });
    const again = await ask(own, format, { text, stream: true });
    const whole = await ask(own, other, { text });
    assert.deepEqual([first.cache, again.cache, whole.cache], ['miss', 'hit', 'hit'], first.body);
    if (withoutIds(again.body) !== withoutIds(first.body) || whole.text !== first.text) wrong += 1;
  }
  t.diagnostic(`${wrong} wrong of ${cases}`);
  assert.equal(wrong, 0);
  assert.equal(spoiler.asked, cases);
});

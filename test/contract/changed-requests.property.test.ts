import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { placesIn, wholeRequests } from './whole-requests.ts';

/* Bad input is never a 500, whatever stands where: each format, over a provider of each. */

const upstream = await startUpstream({ models: ['mock/ok'] });
after(() => upstream.close());
const at = { base_url: `${upstream.url}/v1`, api_key: 'upstream-secret' };
const providers = {
  chat: { type: 'openai', ...at, dialects: ['openai-chat'] },
  responses: { type: 'openai', ...at, dialects: ['openai-responses'] },
  claude: { type: 'anthropic', ...at },
  google: { type: 'gemini', ...at, base_url: upstream.url },
};
const aliases = Object.keys(providers);
const gateway = await startGateway(
  { after: after as TestContext['after'] },
  { providers, models: Object.fromEntries(aliases.map((name) => [name, { targets: [`${name}/mock/ok`] }])) },
);

async function post(path: string, json: unknown): Promise<{ status: number; text: string }> {
  const response = await gateway.fetch(path, { json });
  return { status: response.status, text: await response.text() };
}

function holds({ status, text }: { status: number; text: string }, of: unknown): void {
  const refused = status >= 400 && status < 500 && /"message":"./.test(text);
  assert.ok(status === 200 || refused, `${status} ${text.slice(0, 300)} for ${JSON.stringify(of)}`);
}

const user = (content: unknown) => [{ role: 'user', content }];
const text = { type: 'text', text: 'hi' };
/** No text can be made of it. */
const wordless = { toString: 1 };
const fetched = { type: 'web_fetch_tool_result', tool_use_id: 'srvtoolu_1', content: wordless };
const failed = { type: 'web_fetch_tool_result', tool_use_id: 'srvtoolu_cv_1', content: { type: wordless } };
const tools = [{ type: 'web_fetch_20250910', name: 'web_fetch' }];
const found: [what: string, path: string, body: object][] = [
  ['a block named __proto__', '/v1/messages', { max_tokens: 9, messages: user([{ type: '__proto__' }, text]) }],
  ['a block named constructor', '/v1/messages', { max_tokens: 9, messages: user([{ type: 'constructor' }, text]) }],
  [
    'a picture with a member text that is none',
    '/v1/chat/completions',
    { messages: user([{ type: 'image_url', image_url: { url: 'data:image/png;base64,aa' }, text: -1 }]) },
  ],
  ['an unknown item that holds null', '/v1/responses', { input: [{ type: 'new', role: 'user', content: [null] }] }],
  ['an unknown item that holds a number', '/v1/responses', { input: [{ type: 'new', role: 'user', content: 5 }] }],
  [
    'an unknown item whose picture is none',
    '/v1/responses',
    { input: [{ type: 'new', content: [{ type: 'input_image', image_url: 5 }, { type: 'input_audio' }] }] },
  ],
  [
    'a block without a word for its type',
    '/v1/messages',
    { max_tokens: 9, messages: user([{ type: wordless }, fetched, text]), tools },
  ],
  [
    'a result of ours without a word for its fault',
    '/v1/messages',
    { max_tokens: 9, messages: [{ role: 'assistant', content: [failed] }, ...user('hi')] },
  ],
];

for (const [what, path, body] of found) {
  test(`${path}: ${what} is no fault of ours`, async () => {
    for (const model of aliases) holds(await post(path, { model, ...body }), body);
  });
}

for (const [at, { path, body }] of wholeRequests.entries()) {
  test(`${path}: a value without a word is no fault of ours at any place of request ${at}`, async () => {
    for (const [index] of placesIn(body).entries()) {
      for (const model of aliases) {
        const json = structuredClone(body);
        if ('model' in json) json.model = model;
        const { holder, key } = placesIn(json)[index]!;
        holder[key] = wordless;
        holds(await post(path.replace('MODEL', model), json), json);
      }
    }
  });
}

const odd = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 1.5, 1e308, 2 ** 53, '', ' ', 'x', '{', '[1]', '\ud83d', 'a'.repeat(300)),
  fc.constantFrom<unknown>('__proto__', 'constructor', 'toString', 'data:image/png;base64,', 'http://127.0.0.1:1/x'),
  fc.constantFrom<unknown>([], {}, [null], [[]], [{}], text, { type: 'x' }, { type: null }, { length: -1 }, wordless),
);
const change = fc.record({
  place: fc.nat(1_000),
  key: fc.constantFrom(null, 'extra', 'type', 'role', 'content', 'text', 'name', 'id'),
  how: fc.constantFrom('put', 'put', 'remove', 'repeat', 'copy'),
  other: fc.nat(1_000),
  odd,
});
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

function changed(body: Record<string, unknown>, { place, key, how, other, odd }: Change): void {
  const places = placesIn(body);
  if (places.length === 0) return;
  const { holder, key: own } = places[place % places.length]!;
  const from = places[other % places.length]!;
  if (how === 'remove') Array.isArray(holder) ? holder.splice(Number(own), 1) : delete holder[own];
  else if (how === 'repeat' && Array.isArray(holder))
    holder.splice(Number(own), 0, structuredClone(holder[Number(own)]));
  else if (how === 'copy') holder[own] = structuredClone(from.holder[from.key]);
  else holder[Array.isArray(holder) ? own : (key ?? own)] = structuredClone(odd);
}

test('a request with anything anywhere is answered or refused with a reason', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...wholeRequests),
      fc.constantFrom(...aliases),
      fc.array(change, { minLength: 1, maxLength: 3 }),
      async ({ path, body }, model, changes) => {
        const json = structuredClone(body);
        if ('model' in json) json.model = model;
        for (const one of changes) changed(json, one);
        holds(await post(path.replace('MODEL', model), json), json);
      },
    ),
    { seed: 20_261_120, numRuns: 400 },
  );
});

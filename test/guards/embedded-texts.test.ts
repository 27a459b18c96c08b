import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';

/* Texts of embeddings and completions: as ids of a tokenizer, which nobody reads, and under each format's own names. */

const word = 'zebrafish';
const upstream = await startUpstream();
after(upstream.close);
const words = { check: 'words', words: [word], action: 'block', on: ['input'] };
const guards = {
  strict: words,
  lenient: { ...words, on_error: 'allow' },
  elsewhere: { ...words, parts: ['tool-result'] },
  users: { ...words, parts: ['user'] },
  small: { check: 'sizes', limits: { tokens: 4, attachments: 1 }, action: 'block', on: ['input'] },
};
const keyOf = (guard: string) => `sk-cv-tokens-${guard}`;
const gateway = await startGateway({ after } as TestContext, {
  providers: { openai: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' } },
  models: {
    chat: { targets: ['openai/mock/ok'] },
    embed: { type: 'embedding', targets: ['openai/text-embedding-3-small'] },
  },
  guards,
  keys: Object.keys(guards).map((name) => ({ key: keyOf(name), account: name, name, guards: [name] })),
});

async function ask(guard: keyof typeof guards, path: string, json: object) {
  const response = await gateway.fetch(path, { json, headers: { authorization: `Bearer ${keyOf(guard)}` } });
  const { status, headers } = response;
  return { status, text: await response.text(), said: headers.get('x-culvert-guard') ?? '' };
}

const ofTokens: Record<string, [path: string, json: object]> = {
  'an embedding': ['/v1/embeddings', { model: 'embed', input: [1, 2, 3] }],
  'several embeddings': ['/v1/embeddings', { model: 'embed', input: [[1, 2, 3], [4]] }],
  'a completion': ['/v1/completions', { model: 'chat', prompt: [1, 2, 3] }],
  'several completions': ['/v1/completions', { model: 'chat', prompt: [[1, 2, 3]] }],
};
for (const [name, [path, json]] of Object.entries(ofTokens)) {
  test(`tokens of ${name} are no text that a guard has read`, async () => {
    const refused = await ask('strict', path, json);
    assert.equal(refused.status, 400, refused.text);
    assert.match(refused.text, /cannot read a part of this request, such as .* tokens/);
    const passed = await ask('lenient', path, json);
    assert.match(`${passed.status} ${passed.said}`, /^200 lenient=pass; unscanned; scanned=0%/, passed.text);
    // It reads no text of users.
    assert.equal((await ask('elsewhere', path, json)).status, 200);
  });
}

test('tokens count as such, and are no attachments', async () => {
  const of = (...input: number[][]) => ask('small', '/v1/embeddings', { model: 'embed', input });
  assert.equal((await of([1, 2], [3, 4])).status, 200);
  const refused = await of([1, 2], [3, 4, 5]);
  assert.match(refused.text, /it has 5 tokens, and the most are 4 tokens/);
});

const text = `a ${word}`;
const ofUsers: Record<string, [path: string, json: object]> = {
  'OpenAI’s embeddings': ['/v1/embeddings', { model: 'embed', input: text }],
  'Cohere’s embeddings': ['/v2/embed', { model: 'embed', texts: [text], input_type: 'search_query' }],
  'Google’s embeddings': ['/v1beta/models/embed:embedContent', { content: { parts: [{ text }] } }],
  'several of Google’s': [
    '/v1beta/models/embed:batchEmbedContents',
    { requests: [{ content: { parts: [{ text }] } }] },
  ],
  'Ollama’s embeddings': ['/api/embed', { model: 'embed', input: [text] }],
  'what is behind a completion': ['/v1/completions', { model: 'chat', prompt: 'a', suffix: text }],
};
for (const [name, [path, json]] of Object.entries(ofUsers)) {
  test(`${name}: the text is a user's`, async () => {
    const refused = await ask('users', path, json);
    assert.equal(refused.status, 400, refused.text);
    assert.match(refused.text, /The guard 'users' does not let the request pass/);
    const other = JSON.parse(JSON.stringify(json).replaceAll(word, 'trout')) as object;
    const passed = await ask('users', path, other);
    assert.equal(passed.status, 200, passed.text);
  });
}

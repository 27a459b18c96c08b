import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { adminKey, overUpstreams, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { startAwkwardSite } from '../tools/awkward-site.ts';

const upstream = await startUpstream();
after(() => upstream.close());
const site = await startAwkwardSite({ after });
const over = overUpstreams(upstream.url) as { providers: object; models: object };
const base_url = `${upstream.url}/v1`;
const gateway = await startGateway(
  { after: after as never },
  {
    providers: {
      ...over.providers,
      chats: { type: 'openai', base_url, api_key: 'upstream-secret', dialects: ['openai-chat'] },
      responds: { type: 'openai', base_url, api_key: 'upstream-secret', dialects: ['openai-responses'] },
    },
    models: { ...over.models, chats: { targets: ['chats/mock/ok'] }, responds: { targets: ['responds/mock/ok'] } },
    fetch: { allow_private: [site.place] },
  },
);

/** The tag that the ledger has of a call. */
async function tagOf(path: string, json: object, headers: Record<string, string> = {}): Promise<string | null> {
  return (await recordOf(path, json, headers)).tag;
}

async function recordOf(path: string, json: object, headers: Record<string, string>) {
  const answer = await gateway.fetch(path, { json, headers });
  assert.ok(answer.status < 300, await answer.clone().text());
  await answer.arrayBuffer();
  const id = answer.headers.get('x-culvert-request-id');
  const record = await gateway.fetch(`/admin/v1/requests/${id}`, { headers: { authorization: `Bearer ${adminKey}` } });
  return (await record.json()) as { tag: string | null; session: string | null };
}

const messages = [{ role: 'user', content: 'Hello' }];
const chat = (body: object, headers?: Record<string, string>) =>
  tagOf('/v1/chat/completions', { model: 'chat', messages, ...body }, headers);
const responses = (body: object, headers?: Record<string, string>) =>
  tagOf('/v1/responses', { model: 'chat', input: 'Hello', ...body }, headers);

for (const [name, call] of Object.entries({ chat, responses })) {
  test(`${name}: metadata.tag, or the first of metadata.tags, is the tag of a request`, async () => {
    assert.equal(await call({}), null);
    assert.equal(await call({ metadata: { run: '7' } }), null);
    assert.equal(await call({ metadata: { tag: 'nightly' } }), 'nightly');
    assert.equal(await call({ metadata: { tags: 'nightly' } }), 'nightly');
    assert.equal(await call({ metadata: { tag: 'one', tags: 'two' } }), 'one');
  });

  test(`${name}: the header wins, and has the same limits`, async () => {
    assert.equal(await call({ metadata: { tag: 'body' } }, { 'x-culvert-tag': 'header' }), 'header');
    assert.equal(await call({ metadata: { tag: 'body' } }, { 'x-culvert-tag': ' ' }), 'body');
    assert.equal(await call({ metadata: { tag: ` a\u0007b${'x'.repeat(100)}` } }), `ab${'x'.repeat(62)}`);
  });
}

test('tags and sessions beyond ASCII are UTF-8, as most programs send them, or else latin1, as browsers do', async () => {
  const name = 'Vertrieb-Süd É 🎉';
  const bytes = Buffer.from(name).toString('latin1');
  const headers = { 'x-culvert-tag': bytes, 'x-culvert-session': bytes };
  const { tag, session } = await recordOf('/v1/chat/completions', { model: 'chat', messages }, headers);
  assert.deepEqual([tag, session], [name, name]);
  assert.equal(await chat({}, { 'x-culvert-tag': 'Vertrieb-Süd' }), 'Vertrieb-Süd');
});

test("the first of a list of tags, as LiteLLM's clients send it, is the tag where the vendor takes it", async () => {
  assert.equal(await chat({ metadata: { tags: ['job:7', 'eu'] } }), 'job:7');
  assert.equal(await chat({ metadata: { tags: [7] } }), null);
});

for (const [path, model, said] of [
  ['/v1/chat/completions', 'responds', { messages }],
  ['/v1/responses', 'chats', { input: 'Hello' }],
] as const) {
  test(`${path}: a list of tags is left out where a provider of another format takes texts alone`, async () => {
    upstream.clear();
    const metadata = { tags: ['job:7', 'eu'], run: '7' };
    const answer = await gateway.fetch(path, { json: { model, ...said, metadata } });
    assert.equal(answer.status, 200, await answer.text());
    assert.match(answer.headers.get('x-culvert-dropped') ?? '', /metadata\.tags/);
    const [asked] = upstream.requests();
    assert.deepEqual((asked!.body as { metadata: unknown }).metadata, { run: '7' });
  });
}

test('a body that is read in a thread has its tag too', async () => {
  const long = [{ role: 'user', content: 'x'.repeat(1_200_000) }];
  assert.equal(await chat({ messages: long, metadata: { tag: 'large' } }), 'large');
});

test('calls of vectors and web tools have the tag of the header', async () => {
  const headers = { 'x-culvert-tag': 'index' };
  const made = { name: 'docs', vectors: { size: 4, distance: 'Dot' } };
  assert.equal(await tagOf('/v1/vectors/collections', made, headers), 'index');
  assert.equal(await tagOf('/v1/tools/scrape', { url: `${site.url}/article` }, headers), 'index');
});

test('metadata of the Messages format has no tag: Anthropic takes its user_id alone', async () => {
  const body = { model: 'chat', max_tokens: 9, messages, metadata: { user_id: 'anna', tag: 'no' } };
  assert.equal(await tagOf('/v1/messages', body), null);
  assert.equal(await tagOf('/v1/messages', body, { 'x-culvert-tag': 'yes' }), 'yes');
});

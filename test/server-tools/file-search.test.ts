import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import type OpenAI from 'openai';
import { otherKey } from '../start-gateway.ts';
import { openToolsWorld } from './world.ts';

/* A search of the caller's own vector collections, for models of other providers. */

const { openai, gateway, upstream, sent, rows } = await openToolsWorld({ after: after as TestContext['after'] });
const chat = '/v1/chat/completions';

const vectors = async (path: string, json: object) => {
  const response = await gateway.fetch(`/v1/vectors/collections${path}`, { json });
  assert.ok(response.ok, await response.text());
};
await vectors('', { name: 'docs', embedding_model: 'culvert-lexical-1024' });
await vectors('/docs/points', {
  points: [
    { id: 1, payload: { text: 'A mock bakes bread of flour.', filename: 'bread.txt', file_id: 'file-1', year: 2020 } },
    {
      id: 2,
      payload: { text: 'A mock of the central bank.', title: 'Bank', url: 'https://bank.example/', year: 2024 },
    },
  ],
});
const tool: OpenAI.Responses.FileSearchTool = { type: 'file_search', vector_store_ids: ['docs'] };

for (const model of ['chat', 'claude', 'native']) {
  test(`passages of collections are found, cited and listed (${model})`, async () => {
    sent();
    const path = { chat, claude: '/v1/messages', native: '/v1/responses' }[model]!;
    upstream.script(path, ['ok', 'text=One【1】 and two【2】.']);
    const stream = openai.responses.stream({
      model,
      input: 'call file_search',
      tools: [tool],
      include: ['file_search_call.results'],
    });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    const response = await stream.finalResponse();
    for (const step of ['in_progress', 'searching', 'completed']) {
      assert.ok(types.includes(`response.file_search_call.${step}`), step);
    }
    const [search, message] = response.output;
    assert.ok(search?.type === 'file_search_call' && message?.type === 'message');
    assert.deepEqual(search.results?.map(({ filename }) => filename).toSorted(), ['Bank', 'bread.txt']);
    const [part] = message.content;
    assert.ok(part?.type === 'output_text');
    assert.deepEqual(part.annotations.map(({ type }) => type).toSorted(), ['file_citation', 'url_citation']);
    const cited = part.annotations.find((one) => one.type === 'file_citation')!;
    assert.deepEqual([cited.file_id, cited.filename], ['file-1', 'bread.txt']);
    assert.doesNotMatch(part.text, /【/);
    assert.match(JSON.stringify(sent()[1]), /A mock bakes bread of flour/);
  });
}

test('a passage that is cut within a character goes to the model without half of it', async () => {
  await vectors('', { name: 'cut', embedding_model: 'culvert-lexical-1024' });
  const text = `${'mock '.repeat(800).slice(0, 3_999)}\u{1f600} and so on`;
  await vectors('/cut/points', { points: [{ id: 1, payload: { text } }] });
  sent();
  upstream.script(chat, ['ok', 'text=One.']);
  const tools = [{ type: 'file_search' as const, vector_store_ids: ['cut'] }];
  await openai.responses.create({ model: 'chat', input: 'call file_search', tools });
  const body = JSON.stringify(sent()[1]);
  assert.match(body, /mock mock\ufffd/);
  // JSON writes half of a character as an escape.
  assert.doesNotMatch(body, /\\ud83d/);
});

test('filters and the number of results narrow the search, which is a row of its own', async () => {
  const before = (await rows()).length;
  const asked = async (more: Partial<OpenAI.Responses.FileSearchTool>) => {
    const response = await openai.responses.create({
      model: 'chat',
      input: 'call file_search',
      tools: [{ ...tool, ...more }],
      include: ['file_search_call.results'],
    });
    const [search] = response.output;
    assert.ok(search?.type === 'file_search_call');
    return search.results?.map(({ filename }) => filename);
  };
  assert.equal((await asked({ max_num_results: 1 }))?.length, 1);
  assert.deepEqual(await asked({ filters: { type: 'gte', key: 'year', value: 2021 } }), ['Bank']);
  const neither = [
    { type: 'ne' as const, key: 'year', value: 2020 },
    { type: 'lt' as const, key: 'year', value: 2024 },
  ];
  assert.deepEqual(await asked({ filters: { type: 'and', filters: neither } }), []);
  assert.deepEqual((await asked({ filters: { type: 'or', filters: neither } }))?.toSorted(), ['Bank', 'bread.txt']);
  const made = (await rows()).slice(before).filter(({ endpoint }) => endpoint === 'vectors');
  assert.equal(made.length, 4);
  assert.ok(made.every(({ client_request_id: of }) => typeof of === 'string' && of.startsWith('req_')));
});

test('x-culvert-cost has all that a search cost, its embedding too', async () => {
  const before = (await rows()).length;
  upstream.script(chat, ['ok', 'text=One.']);
  const json = { model: 'chat', input: 'call file_search', tools: [tool] };
  const answer = await gateway.fetch('/v1/responses', { json });
  const made = (await rows()).slice(before);
  const units = made.reduce((sum, row) => sum + Number(row.units), 0);
  assert.deepEqual([made.length, units, answer.headers.get('x-culvert-cost')], [3, 3.05, '3.05']);
});

test('a collection that is not there, or is another tenant’s, is a 400 that names it', async () => {
  const body = { model: 'chat', input: 'call file_search', tools: [tool] };
  const missing = await gateway.fetch('/v1/responses', {
    json: { ...body, tools: [{ ...tool, vector_store_ids: ['nothing'] }] },
  });
  const { error } = (await missing.json()) as { error: { param: string; message: string } };
  assert.equal(missing.status, 400);
  assert.match(error.message, /nothing/);
  const headers = { authorization: `Bearer ${otherKey}`, 'content-type': 'application/json' };
  const foreign = await gateway.fetch('/v1/responses', { json: body, headers });
  assert.equal(foreign.status, 400);
});

test('a filter that is none is refused with its place', async () => {
  const filters = { type: 'near', key: 'year', value: 1 };
  const response = await gateway.fetch('/v1/responses', {
    json: { model: 'chat', input: 'call file_search', tools: [{ ...tool, filters }] },
  });
  assert.equal(response.status, 400);
  assert.match(await response.text(), /filters/);
});

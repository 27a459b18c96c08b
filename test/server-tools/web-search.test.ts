import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { testKey } from '../start-gateway.ts';
import { openToolsWorld } from './world.ts';

const { gateway, openai, upstream, sent, rows, engine } = await openToolsWorld({
  after: after as TestContext['after'],
});
const paths = { chat: '/v1/chat/completions', claude: '/v1/messages', native: '/v1/responses' } as const;
const tools = [{ type: 'web_search' as const, search_context_size: 'low' as const }];

for (const [model, path] of Object.entries(paths)) {
  test(`a model of another provider searches the web, whole (${model})`, async () => {
    sent();
    upstream.script(path, ['ok', 'text=Pandas are red【1】 and white【2】.']);
    const response = await openai.responses.create({ model, input: 'Please call web_search', tools });
    assert.deepEqual(
      response.output.map(({ type }) => type),
      ['web_search_call', 'message'],
    );
    const [search, message] = response.output;
    assert.ok(search?.type === 'web_search_call' && message?.type === 'message');
    assert.equal(search.status, 'completed');
    const text = 'Pandas are red ([a.example](https://a.example/one)) and white ([b.example](https://b.example/two)).';
    assert.equal(response.output_text, text);
    const [part] = message.content;
    assert.ok(part?.type === 'output_text');
    const cited = part.annotations.map(
      (one) => one.type === 'url_citation' && text.slice(one.start_index, one.end_index),
    );
    assert.deepEqual(cited, ['([a.example](https://a.example/one))', '([b.example](https://b.example/two))']);
    const [first, second] = sent();
    assert.match(JSON.stringify(first), /web_search/);
    assert.match(JSON.stringify(second), /【1】 Title of https:\/\/a\.example\/one/);
    assert.ok(response.usage!.input_tokens > 0 && response.usage!.output_tokens > 0);
  });

  test(`the same, streamed (${model})`, async () => {
    sent();
    upstream.script(path, ['ok', 'text=Pandas are red【1】.;chunks=9']);
    const stream = openai.responses.stream({ model, input: 'Please call web_search', tools });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    const final = await stream.finalResponse();
    const once = types.filter((type, at) => type !== types[at - 1]);
    assert.deepEqual(once, [
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.web_search_call.in_progress',
      'response.web_search_call.searching',
      'response.web_search_call.completed',
      'response.output_item.done',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.annotation.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    assert.equal(final.output_text, 'Pandas are red ([a.example](https://a.example/one)).');
  });
}

for (const model of Object.keys(paths)) {
  test(`an answer with a search is kept here, and can be continued (${model})`, async () => {
    const first = await openai.responses.create({ model, input: 'I am Ada. Please call web_search', tools });
    assert.equal((await openai.responses.retrieve(first.id)).output.length, 2);
    sent();
    await openai.responses.create({ model, input: 'Who am I?', previous_response_id: first.id, tools });
    const told = JSON.stringify(sent());
    for (const words of ['I am Ada.', first.output_text, 'Who am I?']) assert.ok(told.includes(words), words);
    assert.doesNotMatch(told, /web_search_call/);
  });
}

test('searches count for the end user whom the request or the header names', async () => {
  const before = (await rows()).length;
  await openai.responses.create({ model: 'chat', input: 'Please call web_search', tools, user: 'ada' });
  const headers = { authorization: `Bearer ${testKey}`, 'x-culvert-user': 'ben' };
  const found = await gateway.fetch('/v1/tools/search', { headers, json: { query: 'pandas' } });
  assert.equal(found.status, 200);
  const made = (await rows()).slice(before).map(({ endpoint, user }) => [endpoint, user]);
  assert.deepEqual(made.toSorted(), [
    ['responses', 'ada'],
    ['responses', 'ada'],
    ['search', 'ada'],
    ['search', 'ben'],
  ]);
});

test('every turn and every search is a row of its own, which names the request', async () => {
  const before = (await rows()).length;
  const { response, data } = await openai.responses
    .create({ model: 'chat', input: 'Please call web_search', tools })
    .withResponse();
  const made = (await rows()).slice(before);
  const id = response.headers.get('x-culvert-request-id');
  assert.deepEqual(made.map(({ endpoint }) => endpoint).toSorted(), ['responses', 'responses', 'search']);
  assert.deepEqual(
    made.map((row) => row.client_request_id === id || row.id === id),
    [true, true, true],
  );
  const sum = (name: 'input_tokens' | 'output_tokens') =>
    made.reduce((all, { usage }) => all + Number((usage as Record<string, number>)[name]), 0);
  assert.deepEqual([data.usage?.input_tokens, data.usage?.output_tokens], [sum('input_tokens'), sum('output_tokens')]);
  assert.equal(response.headers.get('x-culvert-cost'), '3');
  assert.equal(response.headers.get('x-culvert-attempts'), '2');
  assert.ok(engine.asked.length > 0);
});

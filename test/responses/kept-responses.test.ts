import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { test } from 'node:test';
import { APIError } from 'openai';
import type { JsonObject } from '../../src/kernel/json.ts';
import { assertPublishedWhole } from '../conversion/responses-frames.ts';
import { openWorld } from './world.ts';

/* Responses that the gateway keeps, for models of providers that keep none (docs/responses.md). */

/** The SDK's type has it for requests alone. */
const storeOf = (response: object) => (response as { store?: boolean }).store;

for (const model of ['chat', 'claude', 'both']) {
  test(`a chain goes on, whole and streamed, and each turn reads all before it (${model})`, async (t) => {
    const { client, sent } = await openWorld(t);
    const first = await client.responses.create({ model, input: 'My name is Ada.', instructions: 'Be brief.' });
    assert.equal(storeOf(first), true);
    assert.equal(first.previous_response_id, null);

    const stream = await client.responses.create({
      model,
      input: [{ role: 'user', content: 'And I live in Rome.' }],
      previous_response_id: first.id,
      stream: true,
    });
    let second = '';
    for await (const event of stream) {
      if (event.type === 'response.created') assert.equal(event.response.previous_response_id, first.id);
      if (event.type === 'response.completed') second = event.response.id;
    }
    sent();
    const third = await client.responses.create({ model, input: 'Who am I?', previous_response_id: second });
    assert.equal(third.previous_response_id, second);

    const [body] = sent();
    const told = JSON.stringify(body);
    for (const words of ['My name is Ada.', 'And I live in Rome.', 'Who am I?']) assert.ok(told.includes(words), words);
    assert.ok(!told.includes('Be brief.'), 'instructions are not inherited');
    assert.ok(!told.includes('previous_response_id'));
    const roles = ((body!.messages ?? body!.input) as JsonObject[]).map(({ role }) => role);
    assert.deepEqual(roles, ['user', 'assistant', 'user', 'assistant', 'user']);

    const found = await client.responses.retrieve(second);
    assertPublishedWhole(found as unknown as JsonObject);
    assert.equal(found.previous_response_id, first.id);
    assert.ok(found.output_text.length > 0);
  });
}

for (const model of ['chat', 'claude', 'both']) {
  test(`calls that come again before their results are one (${model})`, async (t) => {
    const { client, sent } = await openWorld(t);
    const tools = [
      { type: 'function' as const, name: 'get_weather', parameters: { type: 'object', properties: {} }, strict: false },
    ];
    const first = await client.responses.create({ model, input: 'call get_weather', tools });
    const call = first.output.find((item) => item.type === 'function_call')!;
    // As LiveKit's agents go on: with what they added since, the call too.
    const { name, arguments: json, call_id } = call;
    const result = { type: 'function_call_output' as const, call_id, output: 'fine' };
    const input = [{ type: 'function_call' as const, name, arguments: json, call_id }, result];
    const second = await client.responses.create({ model, tools, input, previous_response_id: first.id });
    const third = await client.responses.create({ model, tools, input: 'And?', previous_response_id: second.id });
    assert.equal(third.status, 'completed');
    for (const body of sent().slice(1)) assert.equal(JSON.stringify(body).split('"get_weather"').length - 1, 2);
  });
}

test('a later turn may go to another provider', async (t) => {
  const { client, sent } = await openWorld(t);
  const first = await client.responses.create({ model: 'both', input: 'One' });
  const second = await client.responses.create({ model: 'claude', input: 'Two', previous_response_id: first.id });
  const third = await client.responses.create({ model: 'chat', input: 'Three', previous_response_id: second.id });
  assert.equal(third.status, 'completed');
  assert.ok(JSON.stringify(sent().at(-1)).includes('One'));
});

test('calls and their results, pictures and thoughts come again in the next turn', async (t) => {
  const { client, sent } = await openWorld(t);
  const tools = [
    { type: 'function', name: 'look_up', parameters: { type: 'object', properties: {} }, strict: false },
  ] as const;
  const url = 'https://example.org/cat.png';
  const first = await client.responses.create({
    model: 'chat',
    tools: [...tools],
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Please call look_up' },
          { type: 'input_image', image_url: url, detail: 'auto' },
        ],
      },
    ],
  });
  const call = first.output.find((item) => item.type === 'function_call');
  assert.ok(call, JSON.stringify(first.output));
  sent();
  await client.responses.create({
    model: 'chat',
    tools: [...tools],
    previous_response_id: first.id,
    input: [{ type: 'function_call_output', call_id: call.call_id, output: 'It is a cat.' }],
  });
  const { messages } = sent()[0] as { messages: JsonObject[] };
  assert.deepEqual(
    messages.map(({ role }) => role),
    ['user', 'assistant', 'tool'],
  );
  assert.ok(JSON.stringify(messages[0]).includes(url));
  assert.equal(messages[2]!.tool_call_id, call.call_id);
});

test('what is not stored cannot be named: not with store false, nor by another key, nor once deleted', async (t) => {
  const { client, stranger, gateway } = await openWorld(t);
  const off = await client.responses.create({ model: 'chat', input: 'Hi', store: false });
  assert.equal(storeOf(off), false);
  const kept = await client.responses.create({ model: 'chat', input: 'Hi' });

  const missing = (code: string | null, status: number) => (error: unknown) => {
    assert.ok(error instanceof APIError);
    assert.equal(error.status, status);
    if (code !== null) assert.equal(error.code, code);
    return true;
  };
  const notFound = 'previous_response_not_found';
  const next = { model: 'chat', input: 'And?' };
  const one = { ...next, previous_response_id: off.id };
  await assert.rejects(client.responses.create(one), missing(notFound, 404));
  const other = { ...next, previous_response_id: kept.id };
  await assert.rejects(stranger.responses.create(other), missing(notFound, 404));
  await assert.rejects(stranger.responses.retrieve(kept.id), missing(null, 404));
  await assert.rejects(stranger.responses.delete(kept.id), missing(null, 404));
  await assert.rejects(stranger.responses.inputItems.list(kept.id), missing(null, 404));

  const deleted = await gateway.fetch(`/v1/responses/${kept.id}`, { method: 'DELETE' });
  assert.deepEqual(await deleted.json(), { id: kept.id, object: 'response', deleted: true });
  await assert.rejects(client.responses.retrieve(kept.id), missing(null, 404));
  await assert.rejects(client.responses.create(other), missing(notFound, 404));
});

test('input items are listed with what the response continues, in pages of either order', async (t) => {
  const { client } = await openWorld(t);
  const first = await client.responses.create({ model: 'chat', input: 'One' });
  const second = await client.responses.create({
    model: 'chat',
    previous_response_id: first.id,
    input: [
      { role: 'user', content: 'Two' },
      { role: 'user', content: [{ type: 'input_text', text: 'Three' }] },
    ],
  });
  const all = await client.responses.inputItems.list(second.id, { order: 'asc', limit: 3 });
  assert.equal(all.has_more, true);
  const shown = [];
  for await (const item of client.responses.inputItems.list(second.id, { order: 'asc', limit: 3 })) shown.push(item);
  const texts = shown.map((item) => (item as unknown as { content: { text: string }[] }).content[0]!.text);
  assert.deepEqual([texts[0], ...texts.slice(2)], ['One', 'Two', 'Three']);
  assert.equal(new Set(shown.map(({ id }) => id)).size, 4);
  const newest = await client.responses.inputItems.list(second.id, { limit: 1 });
  assert.equal(newest.data[0]!.id, shown.at(-1)!.id);
  for (const query of ['limit=0', 'limit=x', 'order=up', 'after=nobody']) {
    const answer = await fetch(`${client.baseURL}/responses/${second.id}/input_items?${query}`, {
      headers: { authorization: `Bearer ${client.apiKey}` },
    });
    assert.equal(answer.status, 400, query);
  }
});

test('input tokens are counted with what the request continues', async (t) => {
  const { client, gateway } = await openWorld(t);
  const first = await client.responses.create({ model: 'chat', input: 'A long story. '.repeat(200) });
  const count = async (json: JsonObject) => {
    const answer = await gateway.fetch('/v1/responses/input_tokens', { json });
    return ((await answer.json()) as { input_tokens: number }).input_tokens;
  };
  const alone = await count({ model: 'chat', input: 'And?' });
  assert.ok((await count({ model: 'chat', input: 'And?', previous_response_id: first.id })) > alone + 400);
});

test('an operator may keep nothing, of all keys or of some', async (t) => {
  const { client, stranger, gateway } = await openWorld(t, { storage: { responses: { except: ['dev/*'] } } });
  const mine = await client.responses.create({ model: 'chat', input: 'Hi' });
  assert.equal(storeOf(mine), false);
  await assert.rejects(client.responses.retrieve(mine.id), { status: 404 });
  await assert.rejects(client.conversations.create(), { status: 403 });
  const theirs = await stranger.responses.create({ model: 'chat', input: 'Hi' });
  assert.equal((await stranger.responses.retrieve(theirs.id)).id, theirs.id);
  assert.equal(gateway.snapshots.current.config.storage.responses.enabled, true);
});

test('where one provider keeps responses, they stay there and are asked for there', async (t) => {
  const { client, sent } = await openWorld(t);
  const first = await client.responses.create({ model: 'native', input: 'Hi' });
  sent();
  await client.responses.create({ model: 'native', input: 'And?', previous_response_id: first.id });
  assert.equal(sent()[0]!.previous_response_id, first.id);
});

test('answers of a server whose ids repeat are kept beside each other', async (t) => {
  const sent: JsonObject[] = [];
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(404).end();
    sent.push((await json(request)) as JsonObject);
    const content = [{ type: 'output_text', text: `answer ${sent.length}`, annotations: [] }];
    const output = [{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content }];
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ id: 'resp_1', object: 'response', status: 'completed', model: 'm', output, usage }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  t.after(() => server.closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const at = { type: 'openai', base_url: `http://127.0.0.1:${port}/v1`, dialects: ['openai-responses'] };
  const { client } = await openWorld(t, {
    providers: { one: { ...at, api_key: 'k1' }, other: { ...at, api_key: 'k2' } },
    models: { two: { targets: ['one/m', 'other/m'] } },
  });
  const read = () => (sent.at(-1)!.input as { content: { text: string }[] }[]).map(({ content }) => content[0]!.text);

  let previous: string | undefined;
  for (const input of ['a', 'b', 'c']) {
    const { id } = await client.responses.create({
      model: 'two',
      input: [{ role: 'user', content: [{ type: 'input_text', text: input }] }],
      ...(previous !== undefined && { previous_response_id: previous }),
    });
    assert.notEqual(id, previous);
    previous = id;
  }
  assert.deepEqual(read(), ['a', 'answer 1', 'b', 'answer 2', 'c']);

  const { id: conversation } = await client.conversations.create();
  for (const text of ['d', 'e', 'f']) {
    const input = [{ role: 'user' as const, content: [{ type: 'input_text' as const, text }] }];
    await client.responses.create({ model: 'two', input, conversation });
  }
  assert.deepEqual(read(), ['d', 'answer 4', 'e', 'answer 5', 'f']);
});

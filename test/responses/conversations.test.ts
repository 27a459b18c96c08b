import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { APIError } from 'openai';
import type { JsonObject } from '../../src/kernel/json.ts';
import { listening } from '../listening.ts';
import { openWorld } from './world.ts';

test('a conversation is begun, read, changed and deleted, by its own key alone', async (t) => {
  const { client, stranger } = await openWorld(t);
  const begun = await client.conversations.create({
    metadata: { topic: 'demo' },
    items: [{ type: 'message', role: 'user', content: 'Hello!' }],
  });
  assert.match(begun.id, /^conv_/);
  assert.equal(begun.object, 'conversation');
  assert.deepEqual((await client.conversations.retrieve(begun.id)).metadata, { topic: 'demo' });
  const changed = await client.conversations.update(begun.id, { metadata: { topic: 'other' } });
  assert.deepEqual(changed.metadata, { topic: 'other' });

  await assert.rejects(stranger.conversations.retrieve(begun.id), { status: 404 });
  await assert.rejects(stranger.conversations.update(begun.id, { metadata: {} }), { status: 404 });
  await assert.rejects(stranger.conversations.items.list(begun.id), { status: 404 });
  await assert.rejects(stranger.conversations.delete(begun.id), { status: 404 });
  await assert.rejects(stranger.responses.create({ model: 'chat', input: 'Hi', conversation: begun.id }), {
    status: 404,
  });

  const gone = await client.conversations.delete(begun.id);
  assert.deepEqual(gone, { id: begun.id, object: 'conversation.deleted', deleted: true });
  await assert.rejects(client.conversations.retrieve(begun.id), { status: 404 });
});

test('items are added, listed in pages, read and deleted', async (t) => {
  const { client } = await openWorld(t);
  const { id } = await client.conversations.create();
  const words = ['One', 'Two', 'Three'];
  const added = await client.conversations.items.create(id, {
    items: words.map((content) => ({ type: 'message', role: 'user', content }) as const),
  });
  assert.equal(added.data.length, 3);
  const listed = [];
  for await (const item of client.conversations.items.list(id, { order: 'asc', limit: 2 })) listed.push(item);
  assert.deepEqual(
    listed.map((item) => (item as unknown as { content: { text: string }[] }).content[0]!.text),
    words,
  );
  const second = String(listed[1]!.id);
  assert.equal((await client.conversations.items.retrieve(second, { conversation_id: id })).id, second);
  assert.equal((await client.conversations.items.delete(second, { conversation_id: id })).id, id);
  await assert.rejects(client.conversations.items.retrieve(second, { conversation_id: id }), { status: 404 });
  assert.equal((await client.conversations.items.list(id)).data.length, 2);
});

test('of a conversation that is too long to be read again, the newest turns are', async (t) => {
  let body = '';
  const server = createServer(async (request, response) => {
    for await (const chunk of request) body += chunk;
    const message = { role: 'assistant', content: 'Hi' };
    const answer = { id: 'c', object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  const providers = { chat: { type: 'openai', base_url: `${await listening(t, server)}/v1`, api_key: 'k' } };
  const { client } = await openWorld(t, { providers, models: { chat: { targets: ['chat/m'] } } });
  const { id } = await client.conversations.create();
  for (let page = 0; page < 9; page += 1) {
    const items = Array.from({ length: 1_000 }, (_, at) => {
      const n = page * 1_000 + at;
      return { type: 'message', role: n % 2 === 0 ? 'user' : 'assistant', content: `message ${n}` } as const;
    });
    await client.conversations.items.create(id, { items: items as never });
  }
  await client.responses.create({ model: 'chat', input: 'And now?', conversation: id, store: false });
  const { messages } = JSON.parse(body) as { messages: { role: string; content: unknown }[] };
  assert.equal(messages.length, 8_001);
  assert.equal(messages[0]!.role, 'user');
  assert.match(JSON.stringify(messages.at(-2)), /message 8999/);
});

test('an item with a member `kind` is read as any other', async (t) => {
  const { client } = await openWorld(t);
  const item = { type: 'message', role: 'user', content: 'Hi', kind: 'not-found' } as const;
  const { id } = await client.conversations.create({ items: [item] });
  const [only] = (await client.conversations.items.list(id)).data;
  const read = await client.conversations.items.retrieve(String(only?.id), { conversation_id: id });
  assert.deepEqual(read, only);
  assert.equal((read as { kind?: string }).kind, 'not-found');
});

test('items are deleted while they are listed, page by page, in both orders', async (t) => {
  const { client, gateway } = await openWorld(t);
  for (const order of ['asc', 'desc'] as const) {
    const { id } = await client.conversations.create({
      items: ['1', '2', '3', '4', '5'].map((content) => ({ type: 'message', role: 'user', content }) as const),
    });
    const removed: string[] = [];
    for await (const item of client.conversations.items.list(id, { order, limit: 2 })) {
      removed.push(String(item.id));
      await client.conversations.items.delete(String(item.id), { conversation_id: id });
    }
    assert.equal(removed.length, 5);
    const added = await client.conversations.items.create(id, {
      items: [{ type: 'message', role: 'user', content: 'later' }],
    });
    const behind = await client.conversations.items.list(id, { order: 'asc', after: removed[4]! });
    if (order === 'asc') assert.deepEqual(behind.data, added.data);
  }
  const { id: other } = await client.conversations.create();
  const answer = await gateway.fetch(`/v1/conversations/${other}/items?after=msg_made_up`);
  assert.equal(answer.status, 400);
  assert.equal(((await answer.json()) as { error: JsonObject }).error.param, 'after');
});

for (const model of ['chat', 'claude', 'both', 'native']) {
  test(`responses read their conversation and add to it (${model})`, async (t) => {
    const { client, sent } = await openWorld(t);
    const { id } = await client.conversations.create({
      items: [{ type: 'message', role: 'user', content: 'My name is Ada.' }],
    });
    const first = await client.responses.create({ model, input: 'Hello.', conversation: id });
    assert.equal(first.conversation?.id, id);
    sent();
    const stream = await client.responses.create({ model, input: 'Who am I?', conversation: { id }, stream: true });
    for await (const _ of stream);
    const told = JSON.stringify(sent()[0]);
    for (const words of ['My name is Ada.', 'Hello.', 'Who am I?']) assert.ok(told.includes(words), words);
    const { data } = await client.conversations.items.list(id, { order: 'asc' });
    assert.deepEqual(
      data.map((item) => (item as { role?: string }).role),
      ['user', 'user', 'assistant', 'user', 'assistant'],
    );
  });
}

test('a conversation that is wrong is refused with the field', async (t) => {
  const { client, gateway } = await openWorld(t);
  const { id } = await client.conversations.create();
  const first = await client.responses.create({ model: 'chat', input: 'Hi' });
  const cases: [path: string, json: JsonObject, status: number, param: string][] = [
    ['/v1/conversations', { metadata: { a: 1 } }, 400, 'metadata'],
    ['/v1/conversations', { metadata: [] }, 400, 'metadata'],
    ['/v1/conversations', { items: 'Hi' }, 400, 'items'],
    ['/v1/conversations', { items: [{ type: 'message', role: 'nobody', content: 'Hi' }] }, 400, 'items[0].role'],
    [`/v1/conversations/${id}/items`, {}, 400, 'items'],
    ['/v1/responses', { model: 'chat', input: 'Hi', conversation: 'conv_none' }, 404, 'conversation'],
    [
      '/v1/responses',
      { model: 'chat', input: 'Hi', conversation: id, previous_response_id: first.id },
      400,
      'conversation',
    ],
  ];
  for (const [path, json, status, param] of cases) {
    const answer = await gateway.fetch(path, { json });
    const { error } = (await answer.json()) as { error: JsonObject };
    assert.equal(answer.status, status, JSON.stringify([json, error]));
    assert.equal(error.param, param);
  }
});

test('what its provider cannot take is named by the field that brought it', async (t) => {
  const { client, gateway } = await openWorld(t);
  const data = 'data:application/octet-stream;base64,AAAA';
  const content = [{ type: 'input_file' as const, filename: 'a.bin', file_data: data }];
  const items = [{ type: 'message' as const, role: 'user' as const, content }];
  const kept = await client.conversations.create({ items });
  const first = await client.responses.create({ model: 'chat', input: items });
  const plain = await client.responses.create({ model: 'chat', input: 'Hi' });
  const cases: [json: JsonObject, param: string][] = [
    [{ input: 'Hi', conversation: kept.id }, 'conversation'],
    [{ input: 'Hi', previous_response_id: first.id }, 'previous_response_id'],
    [{ input: [{ role: 'user', content: 'Hi' }, ...items], previous_response_id: plain.id }, 'input[1]'],
  ];
  for (const [json, param] of cases) {
    const answer = await gateway.fetch('/v1/responses', { json: { model: 'claude', ...json } });
    const { error } = (await answer.json()) as { error: JsonObject };
    assert.deepEqual([answer.status, error.param], [400, param], JSON.stringify(error));
  }
});

test('a body that is nested too deeply is refused, wherever something of it would be kept', async (t) => {
  const { gateway } = await openWorld(t);
  const nested = '['.repeat(100_000) + ']'.repeat(100_000);
  const items = `[{"type":"message","role":"user","content":"Hi","x":${nested}}]`;
  for (const [path, body] of [
    ['/v1/conversations', `{"items":${items}}`],
    ['/v1/responses', `{"model":"chat","input":"Hi","background":true,"x":${nested}}`],
    ['/v1/responses/compact', `{"model":"chat","input":${items}}`],
  ] as const) {
    const headers = { 'content-type': 'application/json' };
    const response = await gateway.fetch(path, { method: 'POST', body, headers });
    const { error } = (await response.json()) as { error: { message: string } };
    assert.equal(response.status, 400, path);
    assert.match(error.message, /nests deeper than/, path);
  }
});

test('a file that is gone is named by what brought it: the turns before, or its own place', async (t) => {
  const { client } = await openWorld(t);
  const fileOf = async () =>
    (await client.files.create({ file: new File(['The text.'], 'a.txt'), purpose: 'user_data' })).id;
  const turnOf = (file_id: string) => [{ role: 'user' as const, content: [{ type: 'input_file' as const, file_id }] }];
  const [old, later] = [await fileOf(), await fileOf()];
  const first = await client.responses.create({ model: 'chat', input: turnOf(old) });
  await client.files.delete(old);
  const refused = async (body: { previous_response_id: string; input: string | ReturnType<typeof turnOf> }) => {
    const failure = await client.responses.create({ model: 'chat', ...body }).then(
      () => null,
      (error: unknown) => error,
    );
    assert.ok(failure instanceof APIError && failure.status === 404, String(failure));
    return failure;
  };
  const gone = await refused({ previous_response_id: first.id, input: 'And?' });
  assert.equal(gone.param, 'previous_response_id');
  assert.match(gone.message, /previous_response_id/);
  assert.doesNotMatch(gone.message, /input\[/);

  const second = await client.responses.create({ model: 'chat', input: 'Hi' });
  await client.files.delete(later);
  const own = await refused({ previous_response_id: second.id, input: turnOf(later) });
  assert.match(own.param ?? '', /^input\[0\]/);
});

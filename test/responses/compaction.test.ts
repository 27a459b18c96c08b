import assert from 'node:assert/strict';
import { test } from 'node:test';
import type OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import type { JsonObject } from '../../src/kernel/json.ts';
import { specValidator } from '../spec/validate.ts';
import { openWorld } from './world.ts';

/** As Codex asks for a compaction. */
const trigger = [
  { role: 'user', content: 'My name is Ada.' },
  { type: 'function_call', call_id: 'c', name: 'home', arguments: '{}' },
  { type: 'function_call_output', call_id: 'c', output: 'Rome' },
  { type: 'compaction_trigger' },
] as OpenAI.Responses.ResponseInputItem[];
const tools = [{ type: 'function' as const, name: 'home', parameters: {}, strict: false }];

for (const model of ['chat', 'claude', 'both']) {
  test(`an input that ends with a trigger is answered with a compaction alone (${model})`, async (t) => {
    const { client, gateway, sent } = await openWorld(t, {}, 'mock/text=Ada%20lives%20in%20Rome.');
    const ask = { model, store: false, tools, input: trigger };
    const whole = await client.responses.create(ask);
    assert.deepEqual(specValidator('openai', 'Response')(whole), []);
    assert.match(JSON.stringify(sent()), /Summarize this conversation/);

    const events: OpenAI.Responses.ResponseStreamEvent[] = [];
    for await (const event of await client.responses.create({ ...ask, stream: true })) events.push(event);
    const types = ['created', 'output_item.added', 'output_item.done', 'completed'].map((type) => `response.${type}`);
    assert.deepEqual(
      events.map(({ type, sequence_number: at }) => [type, at]),
      types.map((type, at) => [type, at]),
    );
    const last = events.at(-1) as OpenAI.Responses.ResponseCompletedEvent;
    assert.ok(last.response.usage!.output_tokens > 0);

    const socket = new ResponsesWS(client);
    t.after(() => socket.close());
    const overSocket: OpenAI.Responses.ResponseOutputItem[] = [];
    const stream = socket.stream();
    socket.send({ type: 'response.create', ...ask });
    for await (const message of stream) {
      if (message.type !== 'message') continue;
      if (message.message.type === 'response.output_item.done') overSocket.push(message.message.item);
      if (message.message.type === 'response.completed') break;
    }
    sent();
    for (const output of [whole.output, last.response.output, overSocket]) {
      assert.deepEqual(
        output.map(({ type }) => type),
        ['compaction'],
      );
      const input = [...output, { role: 'user', content: 'Who am I?' }] as OpenAI.Responses.ResponseInputItem[];
      await client.responses.create({ model, store: false, input });
      assert.match(JSON.stringify(sent()[0]), /Ada lives in Rome\./);
    }
    const refused = await gateway.fetch('/v1/responses', { json: { ...ask, model: 'nobody', stream: true } });
    assert.equal(refused.status, 404);
  });
}

for (const stream of [false, true]) {
  test(`a compaction by a trigger is kept, and what continues it begins with the summary (stream ${stream})`, async (t) => {
    const { client, stranger, sent } = await openWorld(t, {}, 'mock/text=Ada%20lives%20in%20Rome.');
    const first = await client.responses.create({ model: 'chat', input: 'My name is Ada.' });
    const input = [{ type: 'compaction_trigger' }] as unknown as OpenAI.Responses.ResponseInputItem[];
    const ask = { model: 'chat', previous_response_id: first.id, input };
    let made = stream ? null : await client.responses.create(ask);
    if (stream) {
      for await (const event of await client.responses.create({ ...ask, stream }))
        if (event.type === 'response.completed') made = event.response;
    }
    const {
      id,
      store,
      previous_response_id: previous,
      output,
    } = made as OpenAI.Responses.Response & { store: boolean };
    assert.deepEqual([store, previous], [true, first.id]);
    assert.deepEqual((await client.responses.retrieve(id)).output, output);
    sent();
    const next = await client.responses.create({ model: 'chat', previous_response_id: id, input: 'Who am I?' });
    const asked = JSON.stringify(sent());
    assert.ok(/Ada lives in Rome\./.test(asked) && !/My name is Ada/.test(asked), asked);
    await client.responses.create({ model: 'claude', previous_response_id: next.id, input: 'And?' });
    assert.match(JSON.stringify(sent()), /Ada lives in Rome\..*Who am I\?/);
    await assert.rejects(stranger.responses.create({ model: 'chat', previous_response_id: id, input: 'Hi' }), {
      status: 404,
    });
    const unkept = await client.responses.create({ ...ask, store: false });
    await assert.rejects(client.responses.retrieve(unkept.id), { status: 404 });
  });
}

for (const store of [true, false]) {
  test(`a trigger compacts a conversation, which goes on with the summary (store ${store})`, async (t) => {
    const { client, stranger, sent } = await openWorld(t, {}, 'mock/text=Ada%20lives%20in%20Rome.');
    const { id: conversation } = await client.conversations.create();
    await client.responses.create({ model: 'chat', conversation, input: 'My name is Ada.' });
    sent();
    const input = [
      { role: 'user', content: 'I live in Rome.' },
      { type: 'compaction_trigger' },
    ] as unknown as OpenAI.Responses.ResponseInputItem[];
    const made = await client.responses.create({ model: 'chat', conversation: { id: conversation }, store, input });
    assert.deepEqual(specValidator('openai', 'Response')(made), []);
    assert.match(JSON.stringify(sent()), /My name is Ada\..*I live in Rome\..*Summarize this conversation/);
    assert.equal(made.conversation?.id, conversation);
    const { data } = await client.conversations.items.list(conversation, { order: 'asc' });
    assert.deepEqual(
      data.map(({ type }) => type),
      ['message', 'message', 'compaction'],
    );
    for (const model of ['chat', 'claude']) {
      await client.responses.create({ model, conversation, input: 'Who am I?' });
      const asked = JSON.stringify(sent());
      assert.ok(/Ada lives in Rome\..*Who am I\?/.test(asked) && !/My name is Ada/.test(asked), asked);
    }
    await assert.rejects(stranger.responses.create({ model: 'chat', conversation, input }), { status: 404 });
    await assert.rejects(
      client.responses.create({ model: 'chat', conversation, previous_response_id: made.id, input }),
      { status: 400 },
    );
  });
}

test('a provider that makes its own compactions gets the trigger', async (t) => {
  const { client, sent } = await openWorld(t);
  await client.responses.create({ model: 'native', store: false, tools, input: trigger });
  assert.deepEqual((sent()[0]!.input as JsonObject[]).at(-1), { type: 'compaction_trigger' });
});

test('a summary that no provider makes is an error of its request', async (t) => {
  const { gateway } = await openWorld(t, {}, 'mock/status=400');
  for (const stream of [false, true]) {
    const json = { model: 'chat', store: false, stream, input: trigger };
    const response = await gateway.fetch('/v1/responses', { json });
    assert.equal(response.status, 400);
    assert.match(await response.text(), /"error"/);
  }
});

for (const model of ['chat', 'claude', 'native']) {
  test(`a compaction stands for what was said, at any provider, for its own key alone (${model})`, async (t) => {
    const { client, stranger, sent } = await openWorld(t, {}, 'mock/text=Ada%20lives%20in%20Rome.');
    const first = await client.responses.create({ model, input: 'My name is Ada.' });
    sent();
    const made = await client.responses.compact({
      model: model as 'gpt-5',
      previous_response_id: first.id,
      input: 'I live in Rome.',
    });
    assert.deepEqual(specValidator('openai', 'CompactResource')(made), []);
    const [asked] = sent();
    assert.match(JSON.stringify(asked), /I live in Rome\..*Summarize this conversation/);
    const [item] = made.output as unknown as JsonObject[];
    assert.equal(item!.type, 'compaction');
    assert.ok(!JSON.stringify(made).includes('Ada lives'), 'it is encrypted');

    for (const other of ['chat', 'claude', 'native']) {
      const input = [item as never, { role: 'user' as const, content: 'Who am I?' }];
      const next = await client.responses.create({ model: other, input });
      assert.match(JSON.stringify(sent()[0]), /Ada lives in Rome\./);
      await client.responses.create({ model: other, input: 'And?', previous_response_id: next.id });
      if (other !== 'native') assert.match(JSON.stringify(sent()[0]), /Ada lives in Rome\./);
    }
    await assert.rejects(stranger.responses.create({ model, input: [item as never] }), { status: 400 });
    await assert.rejects(client.responses.compact({ model: 'nobody' as 'gpt-5', input: 'Hi' }), { status: 404 });
  });
}

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { WebSocket } from 'ws';
import type { JsonObject } from '../../src/kernel/json.ts';
import { startGateway, testKey } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { type CascadeCaller, openCascade, sound, userSays } from './cascade-caller.ts';

/* Items of the conversation of a realtime cascade, and what the text model reads of them. */

const upstream = await startUpstream();
after(() => upstream.close());
const realtime = { transcription: 'hears', speech: 'speaks' };
const gateway = await startGateway(
  { after: after as never },
  {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret-1' } },
    models: {
      talk: { targets: ['up/mock/ok'], realtime },
      blind: { targets: ['up/mock/ok'], capabilities: { vision: false }, realtime },
      slow: { targets: ['up/mock/chunks=500;interval=20ms;tokens=2000'], realtime },
      hears: { type: 'transcription', targets: ['up/whisper-1'] },
      speaks: { type: 'speech', targets: ['up/tts-1'] },
      embeds: { type: 'embedding', targets: ['up/embed'] },
    },
  },
);

const open = (t: TestContext, session: JsonObject = {}, model = 'talk') =>
  openCascade(t, gateway, { output_modalities: ['text'], ...session }, { model });

const bodyOf = (path: string) => upstream.requests().findLast((one) => one.path === path)?.body as JsonObject;
/** Messages that the text model read last. */
const read = () => bodyOf('/v1/chat/completions').messages as JsonObject[];

/** Adds an item, and resolves to the event that says so. */
async function add(caller: CascadeCaller, item: JsonObject, members: JsonObject = {}): Promise<JsonObject> {
  const from = caller.events.length;
  caller.send('conversation.item.create', { item, ...members });
  const added = await caller.heard('conversation.item.added', from);
  assert.equal((await caller.heard('conversation.item.done', from)).previous_item_id, added.previous_item_id);
  return added;
}

const user = (id: string, text: string) => ({ id, ...userSays(text).item });

test('an item is inserted, retrieved and deleted by its id, and the model reads what is left', async (t) => {
  const caller = await open(t);
  assert.equal((await add(caller, user('two', '2'))).previous_item_id, null);
  assert.equal((await add(caller, user('four', '4'), { previous_item_id: '' })).previous_item_id, 'two');
  assert.equal((await add(caller, user('three', '3'), { previous_item_id: 'two' })).previous_item_id, 'two');
  assert.equal((await add(caller, user('one', '1'), { previous_item_id: 'root' })).previous_item_id, null);
  const unnamed = (await add(caller, userSays('5').item)) as { item: JsonObject; previous_item_id: string };
  assert.equal(unnamed.previous_item_id, 'four');
  await caller.response();
  assert.deepEqual(
    read().map(({ content }) => content),
    ['1', '2', '3', '4', '5'],
  );
  const from = caller.events.length;
  caller.send('conversation.item.retrieve', { item_id: 'three' });
  const { item } = await caller.heard('conversation.item.retrieved', from);
  assert.deepEqual(item, { ...user('three', '3'), object: 'realtime.item', status: 'completed' });
  for (const item_id of ['two', String(unnamed.item.id)]) {
    const before = caller.events.length;
    caller.send('conversation.item.delete', { item_id });
    assert.equal((await caller.heard('conversation.item.deleted', before)).item_id, item_id);
  }
  const answer = await caller.response();
  assert.deepEqual(
    read().map(({ role, content }) => (role === 'user' ? content : role)),
    ['1', '3', '4', 'assistant'],
  );
  // The model's own items have places and ids, too.
  const [message] = answer.output as JsonObject[];
  assert.equal((await add(caller, userSays('6').item)).previous_item_id, message!.id);
});

test('ids that are wrong are error events with OpenAI’s codes', async (t) => {
  const caller = await open(t);
  await add(caller, user('one', '1'));
  const wrong: [string, JsonObject, string, string][] = [
    ['create', { item: user('one', '2') }, 'invalid_value', 'item.id'],
    ['create', { item: user('a b', '2') }, 'invalid_value', 'item.id'],
    ['create', { item: { ...user('', '2'), id: 5 } }, 'invalid_value', 'item.id'],
    ['create', { item: user('x'.repeat(200), '2') }, 'invalid_value', 'item.id'],
    [
      'create',
      { ...userSays('2'), previous_item_id: 'nobody' },
      'item_create_invalid_previous_item_id',
      'previous_item_id',
    ],
    ['create', { ...userSays('2'), previous_item_id: 5 }, 'item_create_invalid_previous_item_id', 'previous_item_id'],
    ['create', { item: { type: 'message', role: 'user', content: 'Hi' } }, 'invalid_value', 'item.content'],
    ['create', { item: { type: 'function_call', call_id: 'c', arguments: '{}' } }, 'invalid_value', 'item.name'],
    [
      'create',
      { item: { type: 'function_call', name: 'f', call_id: '', arguments: '{}' } },
      'invalid_value',
      'item.call_id',
    ],
    ['create', { item: { type: 'function_call_output', call_id: '', output: '' } }, 'invalid_value', 'item.call_id'],
    ['retrieve', { item_id: 'nobody' }, 'item_retrieve_invalid_item_id', 'item_id'],
    ['delete', { item_id: 'nobody' }, 'item_delete_invalid_item_id', 'item_id'],
    ['delete', {}, 'item_delete_invalid_item_id', 'item_id'],
    ['truncate', { item_id: 'nobody', audio_end_ms: 5 }, 'item_truncate_invalid_item_id', 'item_id'],
    ['truncate', { item_id: 'one', audio_end_ms: 5 }, 'unsupported_content_type', 'item_id'],
    ['truncate', { item_id: 'one', audio_end_ms: -1 }, 'invalid_value', 'audio_end_ms'],
  ];
  for (const [verb, members, code, param] of wrong) {
    const error = await caller.refused(`conversation.item.${verb}`, { event_id: 'mine', ...members });
    const { type, event_id } = error;
    assert.deepEqual([type, error.code, error.param, event_id], ['invalid_request_error', code, param, 'mine']);
  }
  await caller.response();
  assert.deepEqual(read(), [{ role: 'user', content: '1' }]);
});

test('of an answer that was cut off the model reads what the caller has played', async (t) => {
  const caller = await open(t, { output_modalities: ['audio'] });
  await add(caller, user('ask', 'Alpha beta gamma delta. Epsilon zeta eta theta iota kappa.'));
  const { output } = await caller.response();
  const { id, content } = (output as { id: string; content: [{ transcript: string }] }[])[0]!;
  const [first] = content[0].transcript.split(' Epsilon');
  const bytes = caller.events
    .filter(({ type }) => type === 'response.output_audio.delta')
    .reduce((sum, { delta }) => sum + Buffer.from(String(delta), 'base64').length, 0);
  const allMs = bytes / 48;
  const truncate = async (audio_end_ms: number) => {
    const from = caller.events.length;
    caller.send('conversation.item.truncate', { item_id: id, content_index: 0, audio_end_ms });
    assert.equal((await caller.heard('conversation.item.truncated', from)).audio_end_ms, audio_end_ms);
    caller.send('conversation.item.retrieve', { item_id: id });
    const { item } = await caller.heard('conversation.item.retrieved', from);
    return ((item as JsonObject).content as [{ transcript: string }])[0].transcript;
  };
  const tooLong = { item_id: id, content_index: 0, audio_end_ms: Math.ceil(allMs) + 1 };
  const error = await caller.refused('conversation.item.truncate', tooLong);
  assert.deepEqual([error.code, error.param], ['invalid_value', 'audio_end_ms']);
  // Two sentences were spoken, 66 ms of sound for each character: half of the second one is played.
  assert.equal(await truncate(Math.round(allMs - (34 * 66) / 2)), `${first} Epsilon zeta eta`);
  assert.equal(await truncate(1_000), 'Mock answer to:');
  await caller.response();
  assert.deepEqual(read().at(-1), { role: 'assistant', content: 'Mock answer to:' });
  assert.equal(await truncate(0), '');
  await caller.response();
  assert.deepEqual(
    read().map(({ role }) => role),
    ['user', 'assistant'],
  );
});

test('an answer that is interrupted may be cut while it is made', async (t) => {
  const caller = await open(t, { output_modalities: ['audio'] }, 'slow');
  await add(caller, user('ask', 'Tell me more'));
  caller.send('response.create');
  const { item_id } = await caller.heard('response.output_audio_transcript.delta');
  caller.send('conversation.item.truncate', { item_id: item_id!, content_index: 0, audio_end_ms: 0 });
  await caller.heard('conversation.item.truncated');
  caller.send('response.cancel');
  await caller.heard('response.done');
  const from = caller.events.length;
  caller.send('response.create');
  await caller.heard('response.output_audio_transcript.delta', from);
  assert.deepEqual(read(), [{ role: 'user', content: 'Tell me more' }]);
});

test('speech has its place in the conversation from its end on, whenever its transcript comes', async (t) => {
  const caller = await open(t, { audio: { input: { turn_detection: null } } });
  await add(caller, user('before', 'Before'));
  const from = caller.events.length;
  caller.send('input_audio_buffer.append', { audio: sound(300, 0.3) });
  caller.send('input_audio_buffer.commit');
  caller.send('conversation.item.create', { item: user('behind', 'Behind') });
  const committed = await caller.heard('input_audio_buffer.committed', from);
  assert.equal(committed.previous_item_id, 'before');
  const spoken = (await caller.heard('conversation.item.added', from)).item as JsonObject;
  assert.deepEqual([spoken.id, spoken.status], [committed.item_id, 'in_progress']);
  await caller.response();
  const [before, said, behind] = read();
  assert.deepEqual([before!.content, behind!.content], ['Before', 'Behind']);
  assert.match(String(said!.content), /transcript/i);
  caller.send('conversation.item.retrieve', { item_id: committed.item_id! });
  const { item } = await caller.heard('conversation.item.retrieved');
  assert.deepEqual((item as JsonObject).content, [{ type: 'input_audio', transcript: said!.content }]);
});

test('a result whose call is not there is refused, in the conversation and in the input of a response', async (t) => {
  const caller = await open(t);
  const result = { type: 'function_call_output', call_id: 'call_x', output: 'seen' };
  const call = { type: 'function_call', call_id: 'call_x', name: 'look', arguments: '{}' };
  const refused = (type: string, members: JsonObject) => caller.refused(type, { event_id: 'mine', ...members });
  const early = await refused('conversation.item.create', { item: result });
  assert.deepEqual([early.code, early.param, early.event_id], ['invalid_tool_call_id', 'item.call_id', 'mine']);
  await add(caller, { id: 'call', ...call });
  await add(caller, { id: 'result', ...result });
  const reference = { type: 'item_reference', id: 'result' };
  for (const input of [
    [userSays('Hi').item, result],
    [userSays('Hi').item, reference],
  ]) {
    const apart = await refused('response.create', { response: { conversation: 'none', input } });
    assert.deepEqual([apart.code, apart.param], ['invalid_tool_call_id', 'response.input[1].call_id']);
  }
  await caller.response({ conversation: 'none', input: [call, reference] });
  assert.deepEqual(
    read().map(({ role }) => role),
    ['assistant', 'tool'],
  );
});

test('a call without an id gets one, by which its result is found', async (t) => {
  const caller = await open(t);
  await add(caller, { id: 'c', type: 'function_call', name: 'look', arguments: '{}' });
  caller.send('conversation.item.retrieve', { item_id: 'c' });
  const { call_id: id } = (await caller.heard('conversation.item.retrieved')).item as JsonObject;
  assert.match(String(id), /^call_\w{16}$/);
  await add(caller, { type: 'function_call_output', call_id: id!, output: 'seen' });
  await caller.response();
  assert.deepEqual(read().slice(-2), [
    {
      role: 'assistant',
      content: '',
      tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: id, content: 'seen' },
  ]);
  caller.realtime.close();
  await caller.closed;
});

test('calls and their results stay together, whatever comes between them or is deleted', async (t) => {
  const caller = await open(t);
  const call = (id: string) => ({ type: 'function_call', id, call_id: `call_${id}`, name: 'look', arguments: '{}' });
  const called = (id: string) => ({ id: `call_${id}`, type: 'function', function: { name: 'look', arguments: '{}' } });
  await add(caller, user('ask', 'Look'));
  await add(caller, call('a'));
  await add(caller, call('b'));
  await add(caller, user('wait', 'Hurry'));
  await add(caller, { id: 'seen', type: 'function_call_output', call_id: 'call_b', output: 'B' });
  await caller.response();
  const ask = { role: 'user', content: 'Look' };
  const b = { role: 'tool', tool_call_id: 'call_b', content: 'B' };
  const hurry = { role: 'user', content: 'Hurry' };
  assert.deepEqual(read(), [
    ask,
    { role: 'assistant', content: '', tool_calls: [called('a'), called('b')] },
    { role: 'tool', tool_call_id: 'call_a', content: '[no result yet]' },
    b,
    hurry,
  ]);
  caller.send('conversation.item.delete', { item_id: 'a' });
  await caller.response();
  assert.deepEqual(read().slice(0, 4), [ask, { role: 'assistant', content: '', tool_calls: [called('b')] }, b, hurry]);
  caller.send('conversation.item.delete', { item_id: 'b' });
  await caller.response();
  assert.deepEqual(read().slice(0, 2), [ask, hurry]);
});

test('a response may read some items of the conversation alone', async (t) => {
  const caller = await open(t);
  for (const id of ['one', 'two', 'three']) await add(caller, user(id, id));
  const input = [{ type: 'item_reference', id: 'three' }, { type: 'item_reference', id: 'one' }, userSays('new').item];
  await caller.response({ conversation: 'none', input });
  assert.deepEqual(
    read().map(({ content }) => content),
    ['three', 'one', 'new'],
  );
});

const picture = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' };

test('images go to a model that sees, and are refused where it does not', async (t) => {
  const item = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'This?' }, picture] };
  const caller = await open(t);
  await add(caller, item);
  await caller.response();
  assert.deepEqual(read(), [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'This?' },
        { type: 'image_url', image_url: { url: picture.image_url, detail: 'low' } },
      ],
    },
  ]);
  const wrong: [JsonObject, string][] = [
    [{ ...item, role: 'assistant' }, 'item.content[1].type'],
    [{ ...item, content: [{ ...picture, image_url: 'picture.png' }] }, 'item.content[0].image_url'],
    [{ ...item, content: [{ type: 'input_file' }] }, 'item.content[0].type'],
  ];
  for (const [given, param] of wrong) {
    const error = await caller.refused('conversation.item.create', { item: given });
    assert.deepEqual([error.code, error.param], ['invalid_value', param]);
  }
  const blind = await open(t, {}, 'blind');
  const error = await blind.refused('conversation.item.create', { item });
  assert.equal(error.param, 'item.content[1]');
  assert.match(String(error.message), /reads no images/);
  const apart = await blind.refused('response.create', { response: { input: [item] } });
  assert.equal(apart.param, 'response.input[0].content[1]');
});

test('sound in a message is transcribed before the next answer', async (t) => {
  const caller = await open(t);
  const content = [
    { type: 'input_text', text: 'Listen: ' },
    { type: 'input_audio', audio: sound(300, 0.3) },
  ];
  const from = caller.events.length;
  caller.send('conversation.item.create', { item: { type: 'message', role: 'user', content } });
  await caller.response();
  const { item: begun } = (await caller.heard('conversation.item.added', from)) as unknown as { item: JsonObject };
  const { item } = (await caller.heard('conversation.item.done', from)) as unknown as { item: JsonObject };
  assert.deepEqual([begun.status, item.status, begun.id], ['in_progress', 'completed', item.id]);
  const [text, heard] = item.content as JsonObject[];
  assert.match(String(heard!.transcript), /transcript/i);
  assert.deepEqual(item.content, [text, { type: 'input_audio', transcript: heard!.transcript }]);
  assert.deepEqual(read(), [{ role: 'user', content: `Listen: ${heard!.transcript}` }]);
  const wrong = { type: 'message', role: 'user', content: [{ type: 'input_audio', audio: '%%%%' }] };
  const error = await caller.refused('conversation.item.create', { item: wrong });
  assert.deepEqual([error.code, error.param], ['invalid_value', 'item.content[0].audio']);
});

test('tool_choice of a session, and of a response, goes to the model', async (t) => {
  const tools = ['add', 'look'].map((name) => ({ type: 'function', name, parameters: { type: 'object' } }));
  const caller = await open(t, { tools, tool_choice: 'required' });
  const { session } = (await caller.heard('session.updated')) as unknown as { session: JsonObject };
  assert.equal(session.tool_choice, 'required');
  await add(caller, userSays('Hello').item);
  const choice = async (response: JsonObject) => {
    await caller.response(response);
    return bodyOf('/v1/chat/completions').tool_choice;
  };
  assert.equal(await choice({}), 'required');
  const named = { type: 'function', function: { name: 'look' } };
  assert.deepEqual(await choice({ tool_choice: { type: 'function', name: 'look' } }), named);
  assert.equal(await choice({ tool_choice: 'none' }), 'none');
  assert.equal(await choice({ tool_choice: 'auto' }), undefined);
  for (const [tool_choice, at] of [
    ['sometimes', ''],
    [{ type: 'mcp', server_label: 'x' }, '.type'],
  ] as [string | JsonObject, string][]) {
    const error = await caller.refused('session.update', { session: { type: 'realtime', tool_choice } });
    assert.deepEqual([error.code, error.param], ['invalid_value', `session.tool_choice${at}`]);
  }
});

test('modalities that no model has, and audio that is no base64, are error events that name them', async (t) => {
  const caller = await open(t);
  const update = (session: JsonObject) =>
    caller.refused('session.update', { session: { type: 'realtime', ...session } });
  for (const output_modalities of [['text', 'audio'], [], ['video'], 'text', [{ toString: 1 }]]) {
    const error = await update({ output_modalities });
    assert.deepEqual([error.code, error.param], ['invalid_value', 'session.output_modalities']);
    assert.match(String(error.message), /Supported combinations are: \["text"\] and \["audio"\]/);
  }
  assert.equal((await update({ modalities: ['video'] })).param, 'session.modalities');
  const response = await caller.refused('response.create', { response: { output_modalities: ['text', 'audio'] } });
  assert.equal(response.param, 'response.output_modalities');
  for (const audio of ['%%%%', 'AAA*', { toString: 1 }, undefined]) {
    const error = await caller.refused('input_audio_buffer.append', audio === undefined ? {} : { audio });
    assert.deepEqual([error.code, error.param], ['invalid_value', 'audio']);
  }
  // As some encoders write it, and as the older API named sound with its transcript.
  const from = caller.events.length;
  caller.send('input_audio_buffer.append', { audio: 'AAAA\nAAAA\n' });
  caller.send('session.update', { session: { modalities: ['text', 'audio'] } });
  const { session } = (await caller.heard('session.updated', from)) as unknown as { session: JsonObject };
  assert.deepEqual(session.output_modalities, ['audio']);
  assert.ok(!caller.events.slice(from).some(({ type }) => type === 'error'));
});

test('a model of another type is no realtime model', async () => {
  for (const model of ['embeds', 'hears']) {
    const headers = { authorization: `Bearer ${testKey}` };
    const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/realtime?model=${model}`, { headers });
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
    assert.equal(response.statusCode, 400);
    assert.match(Buffer.concat(await response.toArray()).toString(), /is not a realtime model/);
  }
});

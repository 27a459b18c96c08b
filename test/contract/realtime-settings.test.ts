import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import type { JsonObject } from '../../src/kernel/json.ts';
import { startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { CascadeCaller, openCascade, sound, userSays } from './cascade-caller.ts';

/* Settings of `session.update` in a session by a cascade: each has an effect, or gets an error. */

const upstream = await startUpstream();
after(() => upstream.close());
const gateway = await startGateway(
  { after: after as never },
  {
    providers: {
      up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret-1' },
      google: { type: 'gemini', base_url: upstream.url, api_key: 'upstream-secret-2' },
    },
    models: {
      talk: { targets: ['up/mock/ok'], realtime: { transcription: 'hears', speech: 'speaks' } },
      slow: { targets: ['up/mock/chunks=60;interval=20ms'], realtime: { transcription: 'hears', speech: 'speaks' } },
      sings: { targets: ['up/mock/ok'], realtime: { transcription: 'hears', speech: 'google' } },
      google: { type: 'speech', voices: { narrator: 'Kore' }, targets: ['google/gemini-2.5-flash-preview-tts'] },
      hears: { type: 'transcription', targets: ['up/whisper-1'] },
      speaks: { type: 'speech', targets: ['up/tts-1'] },
    },
  },
);
const open = (t: TestContext, session: JsonObject, model = 'talk') => openCascade(t, gateway, session, { model });
const bodyOf = (path: string) => upstream.requests().findLast((one) => one.path === path)?.body as JsonObject;
const shownIn = (event: JsonObject) => event.session as JsonObject & { audio: Record<'input' | 'output', JsonObject> };

test('the speed of the speech is what the session says, and one that is none is refused', async (t) => {
  const caller = await open(t, { audio: { output: { speed: 1.25 } } });
  const refused = await caller.refused('session.update', { session: { audio: { output: { speed: 9 } } } });
  assert.deepEqual([refused.param, refused.code], ['session.audio.output.speed', 'invalid_value']);
  caller.send('conversation.item.create', userSays('Hello'));
  await caller.response();
  assert.equal(bodyOf('/v1/audio/speech').speed, 1.25);
});

test('a voice that the speech model lacks is refused, as /v1/audio/speech refuses it', async (t) => {
  const caller = await open(t, { audio: { output: { voice: 'narrator' } } }, 'sings');
  const output = (voice: unknown) => ({ audio: { output: { voice: voice as string } } });
  const json = { model: 'google', voice: 'nobody', input: 'Hello' };
  const plain = (await (await gateway.fetch('/v1/audio/speech', { json })).json()) as { error: JsonObject };
  for (const voice of ['nobody', { id: 'nobody' }]) {
    const { code, param, message } = await caller.refused('session.update', { session: output(voice) });
    assert.deepEqual([code, param, message], ['invalid_value', 'session.audio.output.voice', plain.error.message]);
  }
  const { param } = await caller.refused('response.create', { response: output('nobody') });
  assert.equal(param, 'response.audio.output.voice');
  for (const voice of ['Puck', 'marin', 'alloy', { id: 'echo' }]) {
    const from = caller.events.length;
    caller.send('session.update', { session: output(voice) });
    await caller.heard('session.updated', from);
  }
});

test('the settings of a client secret are answered as an update is', async (t) => {
  const hears = async (output: JsonObject, type: string) => {
    const session = { type: 'realtime', model: 'sings', audio: { output } };
    const made = await gateway.fetch('/v1/realtime/client_secrets', { json: { session } });
    const { value } = (await made.json()) as { value: string };
    const caller = new CascadeCaller(gateway.url, 'sings', value);
    t.after(() => caller.realtime.socket.terminate());
    const event = await caller.heard(type);
    assert.equal(caller.events[0]!.type, 'session.created');
    return event;
  };
  assert.equal(shownIn(await hears({ voice: 'Puck' }, 'session.updated')).audio.output.voice, 'Puck');
  const { error } = await hears({ voice: 'nobody' }, 'error');
  assert.equal((error as JsonObject).param, 'session.audio.output.voice');
});

test('a voice of the caller’s own goes to the speech model by its id', async (t) => {
  const caller = await open(t, { audio: { output: { voice: { id: 'voice_1' } } } });
  caller.send('conversation.item.create', userSays('Hello'));
  await caller.response();
  assert.deepEqual(bodyOf('/v1/audio/speech').voice, { id: 'voice_1' });
});

test('a voice by its id, one of several languages, the effort and calls one by one reach the models', async (t) => {
  const caller = await open(t, {
    audio: { input: { transcription: { languages: ['de'] } }, output: { voice: { id: 'echo' } } },
    reasoning: { effort: 'low' },
    parallel_tool_calls: false,
    tools: [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }],
  });
  caller.send('conversation.item.create', userSays('Hello'));
  await caller.response();
  const { reasoning_effort: effort, parallel_tool_calls: parallel } = bodyOf('/v1/chat/completions');
  assert.deepEqual([effort, parallel, bodyOf('/v1/audio/speech').voice], ['low', false, 'echo']);
});

test('a bound of output tokens ends with inf', async (t) => {
  const caller = await open(t, { output_modalities: ['text'], max_output_tokens: 7 });
  caller.send('conversation.item.create', userSays('Hello'));
  await caller.response();
  assert.equal(bodyOf('/v1/chat/completions').max_completion_tokens, 7);
  const from = caller.events.length;
  caller.send('session.update', { session: { max_output_tokens: 'inf' } });
  assert.equal(shownIn(await caller.heard('session.updated', from)).max_output_tokens, 'inf');
  await caller.response();
  assert.equal(bodyOf('/v1/chat/completions').max_completion_tokens, undefined);
});

test('tools that a session cannot have are refused by their place', async (t) => {
  const caller = await open(t, { output_modalities: ['text'] });
  const named = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } };
  const nameless = await caller.refused('session.update', { session: { tools: [named, { type: 'function' }] } });
  assert.equal(nameless.param, 'session.tools[1].name');
  const others = await caller.refused('session.update', { session: { tools: [{ type: 'mcp', server_label: 'm' }] } });
  assert.equal(others.param, 'session.tools[0].type');
  const ofResponse = await caller.refused('response.create', { response: { tools: [{ type: 'function' }] } });
  assert.equal(ofResponse.param, 'response.tools[0].name');
});

test('a setting of another type is refused by its place, and changes nothing', async (t) => {
  const caller = await open(t, { output_modalities: ['text'], instructions: 'Be brief.' });
  const input = (members: JsonObject) => ({ audio: { input: members } });
  for (const [session, param] of [
    [{ instructions: 5 }, 'instructions'],
    [{ prompt: { id: 'pmpt_1' } }, 'prompt'],
    [{ temperature: 'hot' }, 'temperature'],
    [{ max_output_tokens: 'many' }, 'max_output_tokens'],
    [{ max_response_output_tokens: 0 }, 'max_response_output_tokens'],
    [{ parallel_tool_calls: 'yes' }, 'parallel_tool_calls'],
    [{ reasoning: { effort: 5 } }, 'reasoning.effort'],
    [{ tools: {} }, 'tools'],
    [{ tool_choice: { type: 'function' } }, 'tool_choice.name'],
    [{ audio: 'loud' }, 'audio'],
    [{ audio: { output: { voice: 5 } } }, 'audio.output.voice'],
    [{ turn_detection: 'server_vad' }, 'turn_detection'],
    [input({ turn_detection: { type: 'vad' } }), 'audio.input.turn_detection.type'],
    [
      input({ turn_detection: { type: 'server_vad', create_response: 'no' } }),
      'audio.input.turn_detection.create_response',
    ],
    [input({ transcription: 'whisper-1' }), 'audio.input.transcription'],
  ] as [JsonObject, string][]) {
    const refused = await caller.refused('session.update', { session: { instructions: 'Be long.', ...session } });
    assert.deepEqual([refused.code, refused.param], ['invalid_value', `session.${param}`]);
  }
  const ofResponse = await caller.refused('response.create', { response: { instructions: 5 } });
  assert.equal(ofResponse.param, 'response.instructions');
  caller.send('conversation.item.create', userSays('Hello'));
  await caller.response();
  assert.deepEqual((bodyOf('/v1/chat/completions').messages as JsonObject[])[0]!.content, 'Be brief.');
});

test('an update without settings is refused, and so are settings that lie beside `session`', async (t) => {
  const caller = await open(t, { output_modalities: ['text'] });
  for (const members of [{}, { instructions: 'Be brief.' }, { session: 'Be brief.' }]) {
    const { code, param } = await caller.refused('session.update', members);
    assert.deepEqual([code, param], ['invalid_value', 'session']);
  }
});

test('a cancellation without a response gets an error, and the session goes on', async (t) => {
  const caller = await open(t, { output_modalities: ['text'] });
  const refused = await caller.refused('response.cancel', {});
  assert.equal(refused.code, 'response_cancel_not_active');
  caller.send('conversation.item.create', userSays('Hello'));
  assert.equal((await caller.response()).status, 'completed');
});

test('a cancellation of another response leaves the one that runs', async (t) => {
  const caller = await open(t, { output_modalities: ['text'] }, 'slow');
  caller.send('conversation.item.create', userSays('Hello'));
  const done = caller.response();
  const { response } = await caller.heard('response.created');
  await caller.heard('response.output_text.delta');
  const refused = await caller.refused('response.cancel', { response_id: 'resp_0' });
  assert.equal(refused.code, 'response_cancel_not_active');
  caller.send('response.cancel', { response_id: (response as JsonObject).id! });
  assert.deepEqual((await done).status_details, { type: 'cancelled', reason: 'client_cancelled' });
});

test('a response that is cancelled before it begins is not made', async (t) => {
  const caller = await open(t, { output_modalities: ['text'] }, 'slow');
  const statuses = () =>
    caller.events.flatMap((event) => (event.type === 'response.done' ? [(event.response as JsonObject).status] : []));
  caller.send('conversation.item.create', userSays('Hello'));
  caller.send('response.create');
  caller.send('response.cancel');
  await caller.heard('response.done');
  caller.send('response.create');
  await caller.heard('response.output_text.delta');
  caller.send('response.create');
  caller.send('response.cancel');
  await until('both have ended', () => statuses().length === 3);
  assert.deepEqual(statuses(), ['cancelled', 'cancelled', 'cancelled']);
  assert.ok(!caller.events.some(({ type }) => type === 'error'));
  assert.equal((await caller.response({ instructions: 'Anew.' })).status, 'completed');
});

for (const interrupts of [true, false]) {
  test(`speech of the caller ${interrupts ? 'stops' : 'leaves'} the answer: interrupt_response ${interrupts}`, async (t) => {
    const detection = { type: 'server_vad', silence_duration_ms: 200, interrupt_response: interrupts };
    const caller = await open(
      t,
      { output_modalities: ['text'], audio: { input: { turn_detection: detection } } },
      'slow',
    );
    const shown = shownIn((await caller.heard('session.updated')) as JsonObject).audio.input.turn_detection;
    assert.deepEqual(shown, { ...detection, create_response: true });
    caller.send('conversation.item.create', userSays('Hello'));
    caller.send('response.create');
    await caller.heard('response.output_text.delta');
    for (const piece of [sound(400, 0.3), sound(500, 0)]) caller.send('input_audio_buffer.append', { audio: piece });
    const { response } = (await caller.heard('response.done')) as unknown as { response: JsonObject };
    assert.equal(response.status, interrupts ? 'cancelled' : 'completed');
    // What the caller said meanwhile is answered next.
    const from = caller.events.length;
    const next = (await caller.heard('response.done', from)) as unknown as { response: JsonObject };
    assert.equal(next.response.status, 'completed');
    assert.equal((bodyOf('/v1/chat/completions').messages as JsonObject[]).at(-1)?.role, 'user');
  });
}

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { encodeG711 } from '../../src/engines/audio/g711.ts';
import type { JsonObject } from '../../src/kernel/json.ts';
import { listening } from '../listening.ts';
import { adminKey, otherKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { openCascade, sound, userSays } from './cascade-caller.ts';

/* `/v1/realtime` by transcription, chat and speech. */

const upstream = await startUpstream();
after(() => upstream.close());
const gateway = await startGateway(
  { after: after as never },
  {
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret-1' } },
    models: {
      talk: { targets: ['up/mock/ok'], realtime: { transcription: 'hears', speech: 'speaks', voice: 'nova' } },
      slow: {
        targets: ['up/mock/chunks=500;interval=20ms;tokens=2000'],
        realtime: { transcription: 'hears', speech: 'speaks' },
      },
      hears: { type: 'transcription', targets: ['up/whisper-1'] },
      speaks: { type: 'speech', targets: ['up/tts-1'] },
    },
    plans: { default: { windows: 'off', rpm: 'off', concurrency: 1 }, one: { windows: { '5h': 1 }, rpm: 'off' } },
    accounts: { other: { plan: 'one' } },
  },
);

const open = (t: TestContext, session: JsonObject, of: { model?: string; key?: string } = {}) =>
  openCascade(t, gateway, session, of);

const bodyOf = (path: string) => upstream.requests().findLast((one) => one.path === path)?.body as JsonObject;

test('text in: the chat model answers, and what it says is spoken by the speech model', async (t) => {
  const caller = await open(t, { instructions: 'Be brief.', audio: { output: { voice: 'echo' } } });
  caller.send('conversation.item.create', userSays('Hello'));
  caller.send('response.create');
  const { response } = (await caller.heard('response.done')) as unknown as { response: JsonObject };
  assert.equal(response.status, 'completed');
  const { messages } = bodyOf('/v1/chat/completions');
  assert.deepEqual(messages, [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hello' },
  ]);
  const said = String((await caller.heard('response.output_audio_transcript.done')).transcript);
  assert.ok(said.length > 0);
  assert.equal(bodyOf('/v1/audio/speech').voice, 'echo');
  const pcm = caller.events
    .filter(({ type }) => type === 'response.output_audio.delta')
    .map(({ delta }) => Buffer.from(String(delta), 'base64'));
  assert.ok(pcm.length > 0 && pcm.every(({ length }) => length > 0 && length % 2 === 0));
  const from = caller.events.length;
  caller.send('conversation.item.create', userSays('And now?'));
  caller.send('response.create');
  await caller.heard('response.done', from);
  assert.deepEqual(
    (bodyOf('/v1/chat/completions').messages as JsonObject[]).map(({ role }) => role),
    ['system', 'user', 'assistant', 'user'],
  );
  caller.realtime.close();
  await caller.closed;
});

test('speech in: its end is found, its words are written down, and the answer follows by itself', async (t) => {
  const caller = await open(t, {
    output_modalities: ['text'],
    audio: {
      input: { transcription: { model: 'any' }, turn_detection: { type: 'server_vad', silence_duration_ms: 200 } },
    },
  });
  for (const piece of [sound(500, 0), sound(600, 0.3), sound(500, 0.0005)])
    caller.send('input_audio_buffer.append', { audio: piece });
  const started = await caller.heard('input_audio_buffer.speech_started');
  assert.ok(Math.abs(Number(started.audio_start_ms) - 500) <= 40, String(started.audio_start_ms));
  await caller.heard('input_audio_buffer.speech_stopped');
  const heard = await caller.heard('conversation.item.input_audio_transcription.completed');
  assert.equal(heard.item_id, started.item_id);
  const { response } = (await caller.heard('response.done')) as unknown as { response: { usage: JsonObject } };
  assert.ok(Number(response.usage.output_tokens) > 0);
  assert.deepEqual(bodyOf('/v1/chat/completions').messages, [{ role: 'user', content: heard.transcript }]);
  caller.realtime.close();
  await caller.closed;
  // Each step is a row of its own, found by the session's id, and the session is one running request for all of them.
  const answer = await fetch(`${gateway.url}/admin/v1/requests?account=dev`, {
    headers: { authorization: `Bearer ${adminKey}` },
  });
  const rows = ((await answer.json()) as { data: { endpoint: string; client_request_id: string }[] }).data.slice(0, 2);
  assert.deepEqual(rows.map(({ endpoint }) => endpoint).sort(), ['chat', 'transcription']);
  assert.equal(rows[0]!.client_request_id, rows[1]!.client_request_id);
});

test('pauses within words end no turn, however short a silence the caller asks for', async (t) => {
  const caller = await open(t, {
    output_modalities: ['text'],
    audio: { input: { turn_detection: { type: 'server_vad', silence_duration_ms: 1, create_response: false } } },
  });
  for (const piece of [sound(300, 0.3), sound(60, 0), sound(300, 0.3), sound(300, 0)])
    caller.send('input_audio_buffer.append', { audio: piece });
  const stopped = await caller.heard('input_audio_buffer.speech_stopped');
  assert.ok(Math.abs(Number(stopped.audio_end_ms) - 760) <= 40, String(stopped.audio_end_ms));
  caller.realtime.close();
  await caller.closed;
});

test('a telephone speaks and hears G.711: what it says is found and heard, and the answer comes at 8 kHz', async (t) => {
  for (const [law, older] of [
    ['pcmu', 'g711_ulaw'],
    ['pcma', 'g711_alaw'],
  ] as const) {
    const format = { type: `audio/${law}` };
    const caller = await open(t, {
      audio: {
        input: { format, turn_detection: { type: 'server_vad', silence_duration_ms: 200 } },
        output: { format },
      },
    });
    const { session } = (await caller.heard('session.updated')) as unknown as { session: { audio: JsonObject } };
    const { input, output } = session.audio as Record<string, JsonObject>;
    assert.deepEqual([input?.format, output?.format, output?.voice], [format, format, null]);
    // A tone of 400 Hz in pieces of 20 ms, as telephones send it, between silence.
    const said = Float32Array.from({ length: 8_000 }, (_, at) =>
      at > 2_400 && at < 5_600 ? 0.3 * Math.sin((at * 2 * Math.PI * 400) / 8_000) : 0,
    );
    for (let at = 0; at < said.length; at += 160) {
      const audio = encodeG711(said.subarray(at, at + 160), law).toString('base64');
      caller.send('input_audio_buffer.append', { audio });
    }
    const started = await caller.heard('input_audio_buffer.speech_started');
    assert.ok(Math.abs(Number(started.audio_start_ms) - 300) <= 40, String(started.audio_start_ms));
    const stopped = await caller.heard('input_audio_buffer.speech_stopped');
    assert.ok(Math.abs(Number(stopped.audio_end_ms) - 900) <= 40, String(stopped.audio_end_ms));
    await caller.heard('response.done');
    const bytesOf = (from: number) =>
      caller.events.slice(from).reduce((sum, { type, delta }) => {
        return sum + (type === 'response.output_audio.delta' ? Buffer.from(String(delta), 'base64').length : 0);
      }, 0);
    const telephoned = bytesOf(0);
    // The same words again, as PCM: six bytes for each of theirs.
    const from = caller.events.length;
    caller.send('session.update', { session: { input_audio_format: older, output_audio_format: 'pcm16' } });
    caller.send('response.create');
    await caller.heard('response.done', from);
    assert.ok(telephoned > 800 && Math.abs(bytesOf(from) - 6 * telephoned) <= 12, `${telephoned}, ${bytesOf(from)}`);
    caller.realtime.close();
    await caller.closed;
  }
});

test('a format that nobody converts is an error event that names those that are', async (t) => {
  const caller = await open(t, { output_modalities: ['text'] });
  for (const format of [{ type: 'audio/opus' }, { type: 'audio/pcm', rate: 16_000 }]) {
    const from = caller.events.length;
    caller.send('session.update', { session: { type: 'realtime', audio: { input: { format } } } });
    const { error } = (await caller.heard('error', from)) as unknown as { error: JsonObject };
    assert.equal(error.param, 'session.audio.input.format');
    assert.match(String(error.message), /audio\/pcm\), audio\/pcmu, audio\/pcma/);
  }
  caller.realtime.close();
  await caller.closed;
});

test('sound that the caller commits itself is answered when it asks', async (t) => {
  const caller = await open(t, { output_modalities: ['text'], audio: { input: { turn_detection: null } } });
  caller.send('input_audio_buffer.append', { audio: sound(300, 0.3) });
  caller.send('input_audio_buffer.commit');
  await caller.heard('conversation.item.done');
  assert.equal(
    caller.events.some(({ type }) => type === 'response.created'),
    false,
  );
  caller.send('response.create');
  await caller.heard('response.done');
  caller.realtime.close();
  await caller.closed;
});

test('a used-up plan: the session is told which limit, and closed', async (t) => {
  const caller = await open(t, { output_modalities: ['text'] }, { key: otherKey });
  caller.send('conversation.item.create', userSays('Hello'));
  caller.send('response.create');
  await caller.heard('response.done');
  caller.send('response.create');
  const { error } = (await caller.heard('error')) as unknown as { error: JsonObject };
  assert.equal(error.code, 'quota_exceeded');
  assert.equal(await caller.closed, 1008);
});

test('a caller that begins to speak stops the answer, and hears of it', async (t) => {
  const caller = await open(
    t,
    { audio: { input: { turn_detection: { type: 'server_vad', create_response: false } } } },
    { model: 'slow' },
  );
  caller.send('conversation.item.create', userSays('Tell me more'));
  caller.send('response.create');
  await caller.heard('response.output_audio_transcript.delta');
  caller.send('input_audio_buffer.append', { audio: sound(200, 0.3) });
  await caller.heard('input_audio_buffer.speech_started');
  const { response } = (await caller.heard('response.done')) as unknown as { response: JsonObject };
  assert.deepEqual(response.status_details, { type: 'cancelled', reason: 'turn_detected' });
  const asked = await upstream.when(({ aborted, path }) => aborted && path === '/v1/chat/completions');
  assert.ok(asked.aborted, 'the chat model is left');
  caller.realtime.close();
  await caller.closed;
});

test('a caller that speaks on before its answer begins gets one answer to all of it', async (t) => {
  const caller = await open(t, {
    output_modalities: ['text'],
    audio: { input: { turn_detection: { type: 'server_vad', silence_duration_ms: 200 } } },
  });
  const done = 'conversation.item.done';
  const speaks = (...pieces: string[]) => {
    for (const audio of pieces) caller.send('input_audio_buffer.append', { audio });
  };
  upstream.script('/v1/audio/transcriptions', ['delay=500ms;text=I would like', 'text=a coffee.']);
  speaks(sound(300, 0.3), sound(300, 0), sound(300, 0.3));
  await caller.heard(done);
  speaks(sound(300, 0));
  await caller.heard('response.done');
  const types = caller.events.map(({ type }) => type);
  assert.equal(types.slice(0, types.indexOf('response.created')).filter((type) => type === done).length, 2);
  assert.deepEqual(bodyOf('/v1/chat/completions').messages, [
    { role: 'user', content: 'I would like' },
    { role: 'user', content: 'a coffee.' },
  ]);
  // A noise behind a turn is no speech, and the turn is answered all the same.
  const from = caller.events.length;
  upstream.script('/v1/audio/transcriptions', ['delay=500ms;text=And a tea.', 'text= ']);
  speaks(sound(300, 0.3), sound(300, 0), sound(300, 0.3), sound(300, 0));
  await caller.heard('response.done', from);
  assert.equal((bodyOf('/v1/chat/completions').messages as JsonObject[]).at(-1)!.content, 'And a tea.');
  // So is one before a noise that no model transcribes.
  const last = caller.events.length;
  upstream.script('/v1/audio/transcriptions', ['delay=500ms;text=And a cake.', 'status=400']);
  speaks(sound(300, 0.3), sound(300, 0), sound(300, 0.3), sound(300, 0));
  await caller.heard('response.done', last);
  assert.equal((bodyOf('/v1/chat/completions').messages as JsonObject[]).at(-1)!.content, 'And a cake.');
  // And one before speech that the caller takes back.
  const taken = caller.events.length;
  upstream.script('/v1/audio/transcriptions', ['text=That is all.']);
  speaks(sound(300, 0.3), sound(300, 0), sound(300, 0.3));
  await caller.heard(done, taken);
  caller.send('input_audio_buffer.clear');
  await caller.heard('response.done', taken);
  assert.equal((bodyOf('/v1/chat/completions').messages as JsonObject[]).at(-1)!.content, 'That is all.');
});

test('an answer that is cut is incomplete, and one that fails says why', async (t) => {
  const caller = await open(t, { output_modalities: ['text'] });
  const answered = async (spec: string) => {
    upstream.script('/v1/chat/completions', [spec]);
    caller.send('conversation.item.create', userSays('Hello'));
    return caller.response();
  };
  for (const [finish, reason] of [
    ['length', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
  ]) {
    const { status, status_details, output } = await answered(`text=One.;finish=${finish}`);
    assert.deepEqual([status, status_details], ['incomplete', { type: 'incomplete', reason }]);
    assert.equal((output as JsonObject[])[0]!.status, 'incomplete');
  }
  const { status, status_details } = await answered('status=400');
  const { type, code, message } = (status_details as { error: JsonObject }).error;
  assert.deepEqual([status, type, code], ['failed', 'invalid_request_error', 'upstream_refused']);
  assert.match(String(message), /answered 400/);
});

test('functions that the model calls end its response, and their results go to it', async (t) => {
  const tools = [
    { type: 'function', name: 'add', description: 'Adds.', parameters: { type: 'object', properties: {} } },
  ];
  const caller = await open(t, { output_modalities: ['text'], tools });
  caller.send('conversation.item.create', userSays('call add'));
  caller.send('response.create');
  const { response } = (await caller.heard('response.done')) as unknown as { response: { output: JsonObject[] } };
  const call = response.output.find(({ type }) => type === 'function_call')!;
  assert.equal(call.name, 'add');
  const from = caller.events.length;
  caller.send('conversation.item.create', {
    item: { type: 'function_call_output', call_id: call.call_id!, output: '3' },
  });
  caller.send('response.create');
  await caller.heard('response.done', from);
  const messages = bodyOf('/v1/chat/completions').messages as JsonObject[];
  assert.deepEqual(
    messages.map(({ role }) => role),
    ['user', 'assistant', 'tool'],
  );
  assert.equal(messages[2]!.tool_call_id, call.call_id);
  caller.realtime.close();
  await caller.closed;
});

test('functions are called, whatever number a server gives the first one, and where it gives none', async (t) => {
  const add = { id: 'a', type: 'function', function: { name: 'add', arguments: '{"x":' } };
  const rest = { function: { arguments: '1}' } };
  const next = { id: 'b', type: 'function', function: { name: 'subtract', arguments: '{}' } };
  const numbered = [
    { index: 1, ...add },
    { index: 1, ...rest },
    { index: 2, ...next },
  ];
  for (const calls of [numbered, [add, rest, next]]) {
    const odd = createServer((_request, response) => {
      const choices = [...calls.map((call) => ({ tool_calls: [call] })), {}].map((delta, at) => [
        { index: 0, delta, finish_reason: at === calls.length ? 'tool_calls' : null },
      ]);
      const frames = choices.map((one) => ({ id: 'c', object: 'chat.completion.chunk', created: 1, choices: one }));
      response.setHeader('content-type', 'text/event-stream');
      response.end(`${frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('')}data: [DONE]\n\n`);
    });
    const base_url = `${await listening(t, odd)}/v1`;
    const own = await startGateway(t, {
      providers: { odd: { type: 'openai', base_url, api_key: 'k' } },
      models: {
        talk: { targets: ['odd/m'], realtime: { transcription: 'hears', speech: 'speaks', voice: 'nova' } },
        hears: { type: 'transcription', targets: ['odd/whisper-1'] },
        speaks: { type: 'speech', targets: ['odd/tts-1'] },
      },
    });
    const tools = ['add', 'subtract'].map((name) => ({ type: 'function', name, parameters: { type: 'object' } }));
    const caller = await openCascade(t, own, { output_modalities: ['text'], tools });
    caller.send('conversation.item.create', userSays('Hello'));
    const { status, output } = await caller.response();
    assert.equal(status, 'completed');
    assert.deepEqual(
      (output as JsonObject[]).map(({ call_id, name, arguments: given }) => [call_id, name, given]),
      [
        ['a', 'add', '{"x":1}'],
        ['b', 'subtract', '{}'],
      ],
    );
  }
});

test('a caller that clears its sound is not heard, also where its speech would end by itself', async (t) => {
  const caller = await open(t, { audio: { input: { turn_detection: { type: 'server_vad' } } } });
  caller.send('input_audio_buffer.append', { audio: sound(600, 0.3) });
  await caller.heard('input_audio_buffer.speech_started');
  caller.send('input_audio_buffer.clear');
  caller.send('input_audio_buffer.append', { audio: sound(1_000, 0.0005) });
  caller.send('session.update', { session: { type: 'realtime', instructions: 'Be brief.' } });
  await caller.heard(
    'session.updated',
    caller.events.findIndex(({ type }) => type === 'input_audio_buffer.cleared'),
  );
  assert.ok(!caller.events.some(({ type }) => type === 'input_audio_buffer.speech_stopped'));
});

test('sound that comes while too many turns wait is committed later', async (t) => {
  const session = { output_modalities: ['text'], audio: { input: { turn_detection: null } } };
  const caller = await open(t, session, { model: 'slow' });
  caller.send('conversation.item.create', userSays('Hello'));
  for (let n = 0; n < 8; n += 1) caller.send('response.create');
  await caller.heard('response.output_text.delta');
  caller.send('input_audio_buffer.append', { audio: sound(200, 0.3) });
  caller.send('input_audio_buffer.commit');
  assert.match(JSON.stringify(await caller.heard('error')), /turns are already waiting/);
  caller.send('response.cancel');
  await caller.heard('response.done');
  caller.send('input_audio_buffer.commit');
  await caller.heard('input_audio_buffer.committed');
});

test('sound takes room of the bodies until its turn is over', async (t) => {
  const small = await startGateway(t, {
    server: { processes: 1, body_memory: '1mb', body_limit: '512kb' },
    providers: { up: { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'upstream-secret-1' } },
    models: {
      talk: { targets: ['up/mock/ok'], realtime: { transcription: 'hears', speech: 'speaks' } },
      hears: { type: 'transcription', targets: ['up/whisper-1'] },
      speaks: { type: 'speech', targets: ['up/tts-1'] },
    },
  });
  const session = { output_modalities: ['text'], audio: { input: { turn_detection: null } } };
  const [one, other] = [await openCascade(t, small, session), await openCascade(t, small, session)];
  const fill = async () => {
    const from = one.events.length;
    for (let seconds = 0; seconds < 25; seconds += 5)
      one.send('input_audio_buffer.append', { audio: sound(5_000, 0.3) });
    assert.match(JSON.stringify((await one.heard('error', from)).error), /request bodies/);
  };
  await fill();
  assert.match(
    JSON.stringify(await other.refused('input_audio_buffer.append', { audio: sound(5_000, 0.3) })),
    /bodies/,
  );
  one.send('input_audio_buffer.clear');
  await one.heard('input_audio_buffer.cleared');
  await fill();
  // What came before it was refused is heard, and gives its room back.
  one.send('input_audio_buffer.commit');
  await one.heard('conversation.item.done');
  other.send('input_audio_buffer.append', { audio: sound(5_000, 0.3) });
  other.send('input_audio_buffer.commit');
  await other.heard('conversation.item.done');
});

test('a response has settings of its turn alone, and may be apart from the conversation', async (t) => {
  const caller = await open(t, { instructions: 'Be brief.' });
  caller.send('conversation.item.create', userSays('Hello'));
  await caller.heard('conversation.item.done');
  const from = caller.events.length;
  const input = [
    userSays('Is this polite?').item,
    { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{"a":1}' },
    { type: 'function_call_output', call_id: 'c1', output: 'seen' },
  ];
  const apart = {
    conversation: 'none',
    metadata: { topic: 'tone' },
    output_modalities: ['text'],
    max_output_tokens: 50,
  };
  caller.send('response.create', { response: { ...apart, instructions: 'Classify.', input } });
  const { response } = (await caller.heard('response.done', from)) as unknown as { response: JsonObject };
  assert.deepEqual(response.metadata, { topic: 'tone' });
  assert.equal(response.conversation_id, null);
  const types = caller.events.slice(from).map(({ type }) => type);
  assert.ok(types.includes('response.output_text.done'));
  assert.ok(!types.some((type) => /conversation\.item|audio/.test(type)), types.join(' '));
  const { messages, max_completion_tokens: tokens } = bodyOf('/v1/chat/completions');
  assert.deepEqual(messages, [
    { role: 'system', content: 'Classify.' },
    { role: 'user', content: 'Is this polite?' },
    {
      role: 'assistant',
      content: '',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"a":1}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: 'seen' },
  ]);
  assert.equal(tokens, 50);
  // The conversation and the session's settings are as before.
  const next = caller.events.length;
  caller.send('response.create');
  await caller.heard('response.done', next);
  assert.deepEqual(bodyOf('/v1/chat/completions').messages, [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hello' },
  ]);
  assert.ok(caller.events.slice(next).some(({ type }) => type === 'response.output_audio.delta'));
  caller.send('response.create', { response: { input: [{ type: 'item_reference', id: 'i1' }] } });
  const refused = (await caller.heard('error', next)) as unknown as { error: JsonObject };
  assert.equal(refused.error.param, 'response.input');
  caller.realtime.close();
  await caller.closed;
});

test('values of any type are refused by an event, and the session goes on', async (t) => {
  const caller = await open(t, { output_modalities: ['text'] });
  caller.send('conversation.item.create', { item: { type: { toString: 1 } } });
  assert.match(JSON.stringify(await caller.heard('error')), /does not take items of type/);
  const from = caller.events.length;
  const result = (call_id: JsonObject | string) => ({
    type: 'function_call_output',
    call_id,
    output: [{ toString: 1 }],
  });
  caller.send('conversation.item.create', { item: result({ toString: 1 }) });
  assert.match(JSON.stringify(await caller.heard('error', from)), /Send the id of the call/);
  caller.send('conversation.item.create', { item: { type: 'function_call', name: 'look', call_id: 'c1' } });
  await caller.heard('conversation.item.done', from);
  const called = caller.events.length;
  caller.send('conversation.item.create', { item: result('c1') });
  await caller.heard('conversation.item.done', called);
  caller.realtime.close();
  await caller.closed;
});

test('S35 an event of any depth is refused by an event, and the session goes on', async (t) => {
  const caller = await open(t, { output_modalities: ['text'] });
  const deep = '['.repeat(100_000) + ']'.repeat(100_000);
  caller.realtime.socket.send(`{"type":"conversation.item.create","item":{"type":"message","deep":${deep}}}`);
  assert.match(JSON.stringify(await caller.heard('error')), /nested at most 64 levels/);
  const from = caller.events.length;
  caller.send('conversation.item.create', userSays('still here'));
  await caller.heard('conversation.item.done', from);
  caller.realtime.close();
  await caller.closed;
});

test('the conversation and the turns that wait are bounded', async (t) => {
  const caller = await open(t, { output_modalities: ['text'] }, { model: 'slow' });
  for (const word of ['first', 'second', 'third']) {
    caller.send('conversation.item.create', userSays(word.padEnd(1_800_000, '.')));
  }
  caller.send('response.create');
  await caller.heard('response.output_text.delta');
  // Of a body so long its beginning is recorded.
  assert.match(String(bodyOf('/v1/chat/completions')), /"messages":\[\{"role":"user","content":"second\./);
  for (let n = 0; n < 8; n += 1) caller.send('response.create');
  assert.match(JSON.stringify(await caller.heard('error')), /turns are already waiting for their answers/);
  caller.realtime.close();
  await caller.closed;
});

test('a caller that does not read what its events are answered by is not read either', async (t) => {
  const caller = await open(t, { output_modalities: ['text'] });
  const { socket } = caller.realtime;
  socket.pause();
  const event = JSON.stringify({ type: 'conversation.item.create', ...userSays('x'.repeat(1_000_000)) });
  const sent = 60;
  for (let n = 0; n < sent; n += 1) socket.send(event);
  // What the gateway does not take stays here.
  let before = -1;
  while (before !== socket.bufferedAmount) {
    before = socket.bufferedAmount;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  assert.ok(before > 0, 'the gateway took all of it');
  const all = new Promise<void>((resolve) => {
    socket.on('message', () => {
      if (caller.events.filter(({ type }) => type === 'conversation.item.done').length === sent) resolve();
    });
  });
  socket.resume();
  await all;
  caller.realtime.close();
  await caller.closed;
});

test('a key that is revoked while its session runs has no further response', async (t) => {
  const admin = async (path: string, json: object) => {
    const answer = await gateway.fetch(`/admin/v1${path}`, { json, headers: { authorization: `Bearer ${adminKey}` } });
    return (await answer.json()) as { id: string; key: string };
  };
  const { id, key } = await admin('/keys', { account: 'dev', name: 'short-lived' });
  const caller = await open(t, { output_modalities: ['text'] }, { key });
  caller.send('conversation.item.create', userSays('Hello'));
  assert.equal((await caller.response()).status, 'completed');
  await admin(`/keys/${id}/revoke`, {});
  const asked = upstream.requests().length;
  assert.equal((await caller.response()).status, 'failed');
  assert.equal(await caller.closed, 1008);
  assert.equal(upstream.requests().length, asked);
});

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import { GoogleGenAI, type LiveServerMessage, Modality } from '@google/genai';
import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import type { JsonObject } from '../../src/kernel/json.ts';
import { adminKey, startGateway, testKey } from '../start-gateway.ts';
import { until } from '../until.ts';
import { liveUsage, say, startGeminiLive } from '../upstream-formats/start-gemini-live.ts';
import { HeardEvents, type RealtimeEvent } from './heard-events.ts';

/* `/v1/realtime` over Gemini's Live API. */

const upstream = await startGeminiLive({ after });
const gateway = await startGateway(
  { after: after as never },
  {
    providers: { google: { type: 'gemini', base_url: upstream.url, api_key: 'google-secret-1' } },
    models: { live: { targets: [{ provider: 'google', model: 'gemini-live', price: { input: 1, output: 2 } }] } },
  },
);

class Caller extends HeardEvents {
  readonly realtime: OpenAIRealtimeWS;

  constructor(headers: Record<string, string> = {}) {
    super();
    const { hostname, port } = new URL(gateway.url);
    const createConnection = () => connect(Number(port), hostname);
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey });
    this.realtime = new OpenAIRealtimeWS({ model: 'live', options: { createConnection, headers } as never }, client);
    this.realtime.on('error', () => undefined);
    this.realtime.on('event', (event) => this.hear(event as unknown as RealtimeEvent));
  }

  send(event: RealtimeEvent): void {
    this.realtime.send(event as never);
  }

  types(): string[] {
    return this.events.map(({ type }) => type);
  }
}

async function open(session: JsonObject, headers: Record<string, string> = {}) {
  const opening = upstream.next();
  const caller = new Caller(headers);
  await caller.heard('session.created');
  caller.send({ type: 'session.update', session });
  await caller.heard('session.updated');
  return { caller, live: await opening };
}

const userSays = (text: string): RealtimeEvent => ({
  type: 'conversation.item.create',
  item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
});

test('Google’s own SDK talks to the upstream of these tests', async () => {
  const google = new GoogleGenAI({ apiKey: 'google-secret-1', httpOptions: { baseUrl: upstream.url } });
  const told: LiveServerMessage[] = [];
  let over: () => void;
  const done = new Promise<void>((resolve) => {
    over = resolve;
  });
  const session = await google.live.connect({
    model: 'gemini-live',
    config: { responseModalities: [Modality.AUDIO] },
    callbacks: {
      onmessage(message) {
        told.push(message);
        if (message.serverContent?.turnComplete) over();
      },
    },
  });
  session.sendClientContent({ turns: 'Hello', turnComplete: true });
  await done;
  session.close();
  assert.equal(
    told.find(({ serverContent }) => serverContent?.outputTranscription)?.serverContent?.outputTranscription?.text,
    'Hello.',
  );
  assert.equal(told.at(-1)?.usageMetadata?.responseTokenCount, 40);
});

test('tool_choice: none takes the functions out, and what Gemini cannot do is an error event', async () => {
  const tools = [{ type: 'function', name: 'add', parameters: { type: 'object' } }];
  const silent = await open({ type: 'realtime', tools, tool_choice: 'none' });
  silent.caller.send(userSays('Hello'));
  silent.caller.send({ type: 'response.create' });
  await silent.caller.heard('response.done');
  const toolsOf = ({ messages }: typeof silent.live) => (messages[0]?.setup as JsonObject | undefined)?.tools;
  assert.equal(toolsOf(silent.live), undefined);
  const forced = await open({ type: 'realtime', tools, tool_choice: 'required' });
  const fast = await open({ type: 'realtime', audio: { output: { speed: 1.25 } } });
  const { error: noSpeed } = (await fast.caller.heard('error')) as unknown as { error: JsonObject };
  assert.equal(noSpeed.param, 'session.audio.output.speed');
  const { error } = (await forced.caller.heard('error')) as unknown as { error: JsonObject };
  assert.equal(error.param, 'session.tool_choice');
  const { session } = (await forced.caller.heard('session.updated')) as unknown as { session: JsonObject };
  assert.equal(session.tool_choice, 'auto');
  forced.caller.send(userSays('Hello'));
  forced.caller.send({ type: 'response.create', response: { tool_choice: { type: 'function', name: 'add' } } });
  await forced.caller.heard('response.done');
  assert.match(JSON.stringify(toolsOf(forced.live)), /"add"/);
  assert.ok(JSON.stringify(forced.caller.events).includes('response.tool_choice'));
  for (const { caller } of [silent, forced, fast]) caller.realtime.close();
});

test('what a session or a response sets and Gemini cannot do is named, and a response apart is not begun', async () => {
  const turn_detection = { type: 'server_vad', create_response: false };
  const session = { type: 'realtime', reasoning: { effort: 'low' }, audio: { input: { turn_detection } } };
  const { caller, live } = await open(session);
  const { session: shown } = (await caller.heard('session.updated')) as unknown as {
    session: { audio: { input: { turn_detection: JsonObject } } };
  };
  assert.equal(shown.audio.input.turn_detection.create_response, true);
  const items = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Is it spam?' }] }];
  caller.send(userSays('Hello'));
  for (const response of [
    { conversation: 'none', output_modalities: ['text'] },
    { input: items },
    { output_modalities: ['audio'], metadata: { topic: 'a' }, max_output_tokens: 20 },
  ])
    caller.send({ type: 'response.create', response });
  const { response } = (await caller.heard('response.done')) as unknown as { response: JsonObject };
  assert.deepEqual(response.metadata, { topic: 'a' });
  assert.deepEqual(
    caller.events.flatMap(({ type, error }) => (type === 'error' ? [(error as JsonObject).param] : [])),
    [
      'session.reasoning.effort',
      'session.audio.input.turn_detection.create_response',
      'response.conversation',
      'response.input',
      'response',
    ],
  );
  assert.equal(live.messages.filter(({ clientContent }) => clientContent !== undefined).length, 2);
  const at = caller.events.length;
  const content = [{ type: 'input_image', image_url: 'https://example.org/a.png' }];
  caller.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } });
  const { error } = (await caller.heard('error', at)) as unknown as { error: JsonObject };
  assert.equal(error.param, 'item.content[0]');
  const from = caller.events.length;
  const plain = { output_modalities: ['audio'], conversation: 'auto', input: null, tool_choice: null };
  caller.send({ type: 'response.create', response: plain });
  await caller.heard('response.done', from);
  assert.ok(!caller.types().slice(from).includes('error'));
  caller.realtime.close();
});

test('usage that comes in the message behind the end of its turn is the turn’s, and none keeps the turn open', async () => {
  const { caller, live } = await open({ type: 'realtime' });
  caller.send(userSays('Hello'));
  await live.heard(({ clientContent }) => clientContent !== undefined);
  say(live, 'behind the end');
  const tokensIn = async (from: number) => {
    const { response } = (await caller.heard('response.done', from)) as unknown as { response: JsonObject };
    return (response.usage as JsonObject | null)?.total_tokens;
  };
  assert.equal(await tokensIn(0), 95);
  const from = caller.events.length;
  live.send({ serverContent: { outputTranscription: { text: 'Hello.' } } });
  live.send({ serverContent: { turnComplete: true } });
  assert.equal(await tokensIn(from), undefined);
  const at = caller.events.length;
  live.send({ serverContent: { turnComplete: true }, usageMetadata: { totalTokenCount: 60 } });
  assert.equal(await tokensIn(at), 60, 'a total alone is charged, too');
  caller.realtime.close();
});

test('a turn that Gemini does not answer is a response that holds nothing, with its usage', async () => {
  const { caller, live } = await open({ type: 'realtime' });
  caller.send({ type: 'input_audio_buffer.append', audio: Buffer.alloc(480).toString('base64') });
  await live.heard(({ realtimeInput }) => realtimeInput !== undefined);
  live.send({ serverContent: { turnComplete: true }, usageMetadata: { ...liveUsage, responseTokenCount: 0 } });
  const { response } = (await caller.heard('response.done')) as unknown as { response: JsonObject };
  assert.deepEqual([response.status, response.output], ['completed', []]);
  assert.equal((response.usage as JsonObject).total_tokens, 55);
  let from = caller.events.length;
  live.send({ serverContent: { turnComplete: true } });
  live.send({ usageMetadata: liveUsage });
  await caller.heard('response.done', from);
  from = caller.events.length;
  live.send({ serverContent: { turnComplete: true } });
  live.send({ serverContent: { inputTranscription: { text: 'Hello.' } } });
  say(live);
  await caller.heard('response.done', from);
  const created = caller.types().filter((type) => type === 'response.created');
  assert.equal(created.length, 3, 'an end without usage is no response');
  caller.realtime.close();
});

test('settings, text and sound: OpenAI’s events here, Gemini’s messages there, and its usage in the ledger', async () => {
  const { caller, live } = await open({
    type: 'realtime',
    instructions: 'Be brief.',
    audio: {
      output: { voice: 'alloy' },
      input: { turn_detection: { type: 'server_vad', silence_duration_ms: 300, interrupt_response: false } },
    },
    tools: [{ type: 'function', name: 'add', description: 'Adds.', parameters: { type: 'object' } }],
    max_output_tokens: 100,
  });
  caller.send(userSays('Hello'));
  caller.send({ type: 'response.create' });
  const { response } = (await caller.heard('response.done')) as unknown as { response: JsonObject };
  assert.equal(live.path, '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent');
  assert.equal(live.headers['x-goog-api-key'], 'google-secret-1');
  assert.deepEqual(live.messages, [
    {
      setup: {
        model: 'models/gemini-live',
        generationConfig: {
          responseModalities: ['AUDIO'],
          speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
          maxOutputTokens: 100,
        },
        systemInstruction: { parts: [{ text: 'Be brief.' }] },
        tools: [
          { functionDeclarations: [{ name: 'add', description: 'Adds.', parametersJsonSchema: { type: 'object' } }] },
        ],
        realtimeInputConfig: {
          automaticActivityDetection: { silenceDurationMs: 300 },
          activityHandling: 'NO_INTERRUPTION',
        },
        outputAudioTranscription: {},
        sessionResumption: {},
        contextWindowCompression: { slidingWindow: {} },
      },
    },
    { clientContent: { turns: [{ role: 'user', parts: [{ text: 'Hello' }] }], turnComplete: false } },
    { clientContent: { turns: [], turnComplete: true } },
  ]);
  assert.deepEqual(caller.types().slice(2), [
    'conversation.item.added',
    'conversation.item.done',
    'response.created',
    'response.output_item.added',
    'conversation.item.added',
    'response.content_part.added',
    'response.output_audio.delta',
    'response.output_audio_transcript.delta',
    'response.output_audio.done',
    'response.output_audio_transcript.done',
    'response.content_part.done',
    'response.output_item.done',
    'conversation.item.done',
    'response.done',
  ]);
  assert.equal(response.status, 'completed');
  assert.deepEqual(response.usage, {
    total_tokens: 95,
    input_tokens: 50,
    output_tokens: 45,
    input_token_details: {
      ...{ text_tokens: 20, audio_tokens: 30, image_tokens: 0, cached_tokens: 10 },
      cached_tokens_details: { audio_tokens: 0 },
    },
    output_token_details: { text_tokens: 5, audio_tokens: 35, reasoning_tokens: 5 },
  });
  caller.realtime.close();
  for (;;) {
    const answer = await fetch(`${gateway.url}/admin/v1/requests`, {
      headers: { authorization: `Bearer ${adminKey}` },
    });
    const [row] = ((await answer.json()) as { data: { cost_usd: number; target: string }[] }).data;
    if (row === undefined) continue;
    assert.deepEqual([row.cost_usd, row.target], [(50 + 45 * 2) / 1e6, 'google/gemini-live']);
    break;
  }
});

test('sound goes in as it comes; Gemini answers by itself, and says what it has heard', async () => {
  const { caller, live } = await open({ type: 'realtime', audio: { input: { transcription: { model: 'any' } } } });
  const audio = Buffer.alloc(960).toString('base64');
  caller.send({ type: 'input_audio_buffer.append', audio });
  assert.deepEqual(await live.heard(({ realtimeInput }) => realtimeInput !== undefined), {
    realtimeInput: { audio: { mimeType: 'audio/pcm;rate=24000', data: audio } },
  });
  live.send({ serverContent: { inputTranscription: { text: 'Good day.' } } });
  say(live);
  await caller.heard('response.done');
  const heard = await caller.heard('conversation.item.input_audio_transcription.completed');
  assert.equal(heard.transcript, 'Good day.');
  const delta = await caller.heard('response.output_audio.delta');
  assert.equal(Buffer.from(String(delta.delta), 'base64').length, 480);
  caller.realtime.close();
});

test('a caller that commits its sound itself asks for the response too', async () => {
  const { caller, live } = await open({ type: 'realtime', audio: { input: { turn_detection: null } } });
  caller.send({ type: 'input_audio_buffer.append', audio: 'AAAA' });
  caller.send({ type: 'input_audio_buffer.append', audio: 'AAAA' });
  caller.send({ type: 'input_audio_buffer.commit' });
  caller.send({ type: 'response.create' });
  await live.heard((message) => (message.realtimeInput as JsonObject | undefined)?.activityEnd !== undefined);
  assert.deepEqual(
    live.messages.slice(1).map(({ realtimeInput }) => Object.keys(realtimeInput as JsonObject)[0]),
    ['activityStart', 'audio', 'audio', 'activityEnd'],
  );
  say(live);
  await caller.heard('response.done');
  caller.realtime.close();
});

test('a call of a function ends a response, and its result makes the next one', async () => {
  const { caller, live } = await open({
    type: 'realtime',
    output_modalities: ['text'],
    tools: [{ type: 'function', name: 'add' }],
  });
  caller.send(userSays('1 + 2'));
  await live.heard(({ clientContent }) => clientContent !== undefined);
  live.send({ toolCall: { functionCalls: [{ id: 'call_1', name: 'add', args: { a: 1, b: 2 } }] } });
  const { response } = (await caller.heard('response.done')) as unknown as { response: { output: JsonObject[] } };
  const [item] = response.output;
  assert.deepEqual(
    [item!.type, item!.name, item!.call_id, item!.arguments],
    ['function_call', 'add', 'call_1', '{"a":1,"b":2}'],
  );
  const from = caller.events.length;
  caller.send({
    type: 'conversation.item.create',
    item: { type: 'function_call_output', call_id: 'call_1', output: '3' },
  });
  caller.send({ type: 'response.create' });
  assert.deepEqual(await live.heard(({ toolResponse }) => toolResponse !== undefined), {
    toolResponse: { functionResponses: [{ id: 'call_1', name: 'add', response: { output: '3' } }] },
  });
  say(live);
  await caller.heard('response.done', from);
  assert.equal((await caller.heard('response.output_text.done', from)).text, 'Hello.');
  caller.realtime.close();
});

test('an interruption: the caller is told to stop playing, and the response ends as cancelled', async () => {
  const { caller, live } = await open({ type: 'realtime' });
  caller.send({ type: 'input_audio_buffer.append', audio: 'AAAA' });
  await live.heard(({ realtimeInput }) => realtimeInput !== undefined);
  const part = { inlineData: { mimeType: 'audio/pcm;rate=24000', data: 'AAAA' } };
  live.send({ serverContent: { modelTurn: { parts: [part] } } });
  await caller.heard('response.output_audio.delta');
  live.send({ serverContent: { interrupted: true } });
  await caller.heard('input_audio_buffer.speech_started');
  live.send({ serverContent: { turnComplete: true } });
  const { response } = (await caller.heard('response.done')) as unknown as { response: JsonObject };
  assert.deepEqual(
    [response.status, response.status_details],
    ['cancelled', { type: 'cancelled', reason: 'turn_detected' }],
  );
  caller.realtime.close();
});

test('a response that is asked for while a cancelled one ends comes behind it, unless it is cancelled, too', async () => {
  const { caller, live } = await open({ type: 'realtime', output_modalities: ['text'] });
  const statuses = () =>
    caller.events.flatMap((event) => (event.type === 'response.done' ? [(event.response as JsonObject).status] : []));
  const begin = async () => {
    const from = caller.events.length;
    live.send({ serverContent: { modelTurn: { role: 'model', parts: [{ text: 'Well' }] } } });
    await caller.heard('response.created', from);
    caller.send({ type: 'response.cancel' });
    caller.send({ type: 'response.create' });
  };
  caller.send(userSays('Hello'));
  await live.heard(({ clientContent }) => clientContent !== undefined);
  await begin();
  caller.send({ type: 'response.create' });
  const { error } = (await caller.heard('error')) as unknown as { error: JsonObject };
  assert.equal(error.code, 'conversation_already_has_active_response');
  live.send({ serverContent: { turnComplete: true } });
  await until('both are over', () => statuses().length === 2);
  await begin();
  caller.send({ type: 'response.cancel' });
  const from = caller.events.length;
  caller.send({ type: 'input_audio_buffer.clear' });
  await caller.heard('input_audio_buffer.cleared', from);
  live.send({ serverContent: { turnComplete: true } });
  await caller.heard('response.done', from);
  assert.deepEqual(statuses(), ['cancelled', 'completed', 'cancelled']);
  assert.equal(caller.types().at(-1), 'response.done');
  caller.realtime.close();
});

test('what Gemini cannot do is an error event that names the field', async () => {
  const { caller, live } = await open({ type: 'realtime' });
  const refused = async (event: RealtimeEvent, words: RegExp, param: string | null) => {
    const from = caller.events.length;
    caller.send({ ...event, event_id: 'mine' });
    const { error } = (await caller.heard('error', from)) as unknown as { error: JsonObject };
    assert.match(String(error.message), words);
    assert.deepEqual([error.param, error.event_id], [param, 'mine']);
  };
  const update = (session: JsonObject): RealtimeEvent => ({ type: 'session.update', session });
  await refused(
    update({ audio: { input: { format: { type: 'audio/pcmu' } } } }),
    /must be PCM/,
    'session.audio.input.format',
  );
  await refused(
    update({ audio: { output: { voice: 'nobody' } } }),
    /no voice 'nobody'.*Kore/,
    'session.audio.output.voice',
  );
  const from = caller.events.length;
  caller.realtime.socket.send('{');
  const { error } = (await caller.heard('error', from)) as unknown as { error: JsonObject };
  assert.match(String(error.message), /JSON/);
  await refused({ type: 'session.update' }, /'session' is missing/, 'session');
  await refused({ type: 'input_audio_buffer.append', audio: 5 }, /sound in base64/, 'audio');
  await refused({ type: 'response.cancel' }, /no active response/, null);
  const created = caller.events.length;
  live.send({ serverContent: { modelTurn: { parts: [{ inlineData: { mimeType: 'audio/pcm', data: 'AAAA' } }] } } });
  await caller.heard('response.created', created);
  await refused({ type: 'response.cancel', response_id: 'resp_0' }, /no active response/, null);
  await refused({ type: 'conversation.item.delete', item_id: 'x' }, /does not take events/, 'type');
  for (const content of ['Hello', [], undefined]) {
    const item = { type: 'message', role: 'user', ...(content !== undefined && { content }) };
    await refused({ type: 'conversation.item.create', item }, /at least one part/, 'item.content');
  }
  await refused({ type: 'input_audio_buffer.append' }, /sound in base64/, 'audio');
  caller.send({ type: 'input_audio_buffer.append', audio: 'AAAA' });
  await refused(update({ instructions: 'Later.' }), /only before the session has heard anything/, 'session');
  caller.realtime.close();
});

test('callers of the older API get its names', async () => {
  const { caller, live } = await open(
    { modalities: ['text', 'audio'], voice: 'Puck' },
    { 'openai-beta': 'realtime=v1' },
  );
  caller.send(userSays('Hello'));
  caller.send({ type: 'response.create' });
  await caller.heard('response.done');
  assert.equal(live.headers['openai-beta'], undefined);
  const types = new Set(caller.types());
  for (const type of ['conversation.item.created', 'response.audio.delta', 'response.audio_transcript.delta'])
    assert.ok(types.has(type), type);
  assert.ok(![...types].some((type) => type.includes('output_audio')));
  caller.realtime.close();
});

import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import {
  ActivityHandling,
  type FunctionDeclaration,
  GoogleGenAI,
  type LiveServerMessage,
  Modality,
  type Session,
} from '@google/genai';
import { WebSocket } from 'ws';
import type { JsonObject } from '../../src/kernel/json.ts';
import { sound } from '../contract/cascade-caller.ts';
import { adminKey, startGateway } from '../start-gateway.ts';
import { startUpstream } from '../start-upstream.ts';
import { until } from '../until.ts';
import { startGeminiLive } from '../upstream-formats/start-gemini-live.ts';
import { startRealtime } from '../upstream-formats/start-realtime.ts';

/*
 * Gemini's Live API by Google's own SDK: over OpenAI's realtime API, Gemini's own, and a cascade of transcription, chat (of
 * Anthropic) and speech.
 */

const t = { after: after as TestContext['after'] };
const [openai, gemini, plain] = [await startRealtime(t), await startGeminiLive(t), await startUpstream()];
t.after(() => plain.close());
const gateway = await startGateway(t, {
  providers: {
    openai: { type: 'openai', base_url: `${openai.url}/v1`, api_key: 'secret-of-openai' },
    google: { type: 'gemini', base_url: gemini.url, api_key: 'secret-of-google' },
    claude: { type: 'anthropic', base_url: `${plain.url}/v1`, api_key: 'secret-of-claude' },
    up: { type: 'openai', base_url: `${plain.url}/v1`, api_key: 'upstream-secret-1' },
  },
  models: {
    'live-openai': { targets: ['openai/gpt-realtime'] },
    'live-google': { targets: ['google/gemini-live'] },
    'live-claude': { targets: ['claude/claude-sonnet-4-5'], realtime: { transcription: 'hears', speech: 'speaks' } },
    hears: { type: 'transcription', targets: ['up/whisper-1'] },
    speaks: { type: 'speech', targets: ['up/tts-1'] },
  },
});
const options = { httpOptions: { baseUrl: gateway.url } };
const google = new GoogleGenAI({ apiKey: gateway.key, ...options });
const beta = new GoogleGenAI({ apiKey: gateway.key, apiVersion: 'v1beta', ...options });
const models = ['live-openai', 'live-google', 'live-claude'];

interface Opened {
  session: Session;
  messages: LiveServerMessage[];
  closes: { code: number; reason: string }[];
  /** Resolves when the model's turn has ended so often. */
  ended(times?: number): Promise<void>;
}

async function open(model: string, config: JsonObject, client = google): Promise<Opened> {
  const messages: LiveServerMessage[] = [];
  const closes: Opened['closes'] = [];
  const session = await client.live.connect({
    model,
    config,
    callbacks: {
      onmessage: (message) => void messages.push(message),
      onclose: ({ code, reason }) => void closes.push({ code, reason }),
    },
  });
  const ends = () => messages.filter(({ serverContent }) => serverContent?.turnComplete).length;
  return {
    session,
    messages,
    closes,
    ended: (times = 1) => until('the turn has ended', () => ends() >= times || closes.length > 0),
  };
}
const partsOf = ({ messages }: Opened) =>
  messages.flatMap(({ serverContent }) => serverContent?.modelTurn?.parts ?? []);

for (const model of models) {
  for (const client of [google, beta]) {
    test(`${model}: text in, sound out (${client === google ? 'v1' : 'v1beta'})`, async () => {
      const config = {
        responseModalities: [Modality.AUDIO],
        outputAudioTranscription: {},
        systemInstruction: 'Brief.',
      };
      const opened = await open(model, config, client);
      opened.session.sendClientContent({ turns: 'Hello', turnComplete: true });
      await opened.ended();
      const parts = partsOf(opened);
      const sounds = parts.flatMap(({ inlineData }) => (inlineData === undefined ? [] : [inlineData]));
      assert.ok(sounds.length > 0, JSON.stringify(opened.messages));
      assert.equal(sounds[0]!.mimeType, 'audio/pcm;rate=24000');
      assert.ok(Buffer.concat(sounds.map(({ data }) => Buffer.from(data!, 'base64'))).length >= 480);
      const last = opened.messages.findLast(({ usageMetadata }) => usageMetadata !== undefined)!;
      assert.ok(last.usageMetadata!.totalTokenCount! > 0);
      if (model !== 'live-openai') {
        assert.ok(opened.messages.some(({ serverContent }) => serverContent?.outputTranscription?.text));
      }
      opened.session.close();
    });
  }

  test(`${model}: text in, text out, over several turns`, async () => {
    const opened = await open(model, { responseModalities: [Modality.TEXT] });
    const turns = [
      { role: 'user', parts: [{ text: 'Hello' }] },
      { role: 'model', parts: [{ text: 'Hi.' }] },
      { role: 'user', parts: [{ text: 'And now?' }] },
    ];
    opened.session.sendClientContent({ turns, turnComplete: true });
    await opened.ended();
    opened.session.sendRealtimeInput({ text: 'More' });
    await opened.ended(2);
    assert.ok(
      partsOf(opened).some(({ text }) => text),
      JSON.stringify(opened.messages),
    );
    opened.session.close();
  });
}

test('the end of a stream of sound that held no speech leaves a cascade as it is', async () => {
  const opened = await open('live-claude', { responseModalities: [Modality.TEXT] });
  opened.session.sendRealtimeInput({ audioStreamEnd: true });
  opened.session.sendClientContent({ turns: 'Hello', turnComplete: true });
  await opened.ended();
  assert.deepEqual(opened.closes, []);
  assert.ok(partsOf(opened).some(({ text }) => text));
  opened.session.close();
});

test('what was said before the end of a stream of sound is answered', async () => {
  const opened = await open('live-claude', { responseModalities: [Modality.TEXT] });
  opened.session.sendRealtimeInput({ audio: { mimeType: 'audio/pcm;rate=24000', data: sound(600, 0.3) } });
  opened.session.sendRealtimeInput({ audioStreamEnd: true });
  await opened.ended();
  assert.ok(partsOf(opened).some(({ text }) => text));
  opened.session.close();
});

test('ends of streams that held no sound send nothing on', async () => {
  const opening = openai.next();
  const opened = await open('live-openai', {
    responseModalities: [Modality.TEXT],
    realtimeInputConfig: { automaticActivityDetection: { silenceDurationMs: -900 } },
  });
  const upstream = await opening;
  const data = Buffer.alloc(9_600).toString('base64');
  opened.session.sendRealtimeInput({ audio: { mimeType: 'audio/pcm;rate=24000', data } });
  for (let times = 0; times < 20; times += 1) opened.session.sendRealtimeInput({ audioStreamEnd: true });
  opened.session.sendClientContent({ turns: 'Hello' });
  await opened.ended();
  assert.equal(upstream.events.filter(({ type }) => type === 'input_audio_buffer.append').length, 2);
  opened.session.close();
});

test('OpenAI’s session gets the settings, the sound at its own rate, and calls go round', async () => {
  const opening = openai.next();
  const schema = { type: 'OBJECT', properties: { city: { type: 'STRING' } } };
  const declared = { name: 'get_weather', description: 'W.', parameters: schema } as unknown as FunctionDeclaration;
  const opened = await open('live-openai', {
    responseModalities: [Modality.AUDIO],
    systemInstruction: 'Be brief.',
    speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'marin' } } },
    tools: [{ functionDeclarations: [declared as unknown as JsonObject] }],
    inputAudioTranscription: {},
    realtimeInputConfig: { automaticActivityDetection: { silenceDurationMs: 300 } },
    maxOutputTokens: 100,
  });
  const upstream = await opening;
  assert.deepEqual(upstream.events[0]!.session, {
    type: 'realtime',
    output_modalities: ['audio'],
    audio: {
      input: {
        turn_detection: { type: 'server_vad', silence_duration_ms: 300 },
        transcription: { model: 'whisper-1' },
      },
      output: { voice: 'marin' },
    },
    instructions: 'Be brief.',
    tools: [
      {
        type: 'function',
        name: 'get_weather',
        description: 'W.',
        parameters: { type: 'object', properties: { city: { type: 'string' } } },
      },
    ],
    max_output_tokens: 100,
  });
  // 100 ms of 16 kHz become as long of 24 kHz, but for what the filter still holds.
  const data = Buffer.alloc(3_200).toString('base64');
  opened.session.sendRealtimeInput({ audio: { mimeType: 'audio/pcm;rate=16000', data } });
  await until('the sound came', () => upstream.events.some(({ type }) => type === 'input_audio_buffer.append'));
  const { audio } = upstream.events.find(({ type }) => type === 'input_audio_buffer.append')!;
  const bytes = Buffer.from(String(audio), 'base64').length;
  assert.ok(bytes > 4_600 && bytes <= 4_800, String(bytes));
  const item_id = 'item_heard';
  upstream.send({ type: 'conversation.item.input_audio_transcription.delta', item_id, delta: 'Wea' });
  upstream.send({ type: 'conversation.item.input_audio_transcription.delta', item_id, delta: 'ther?' });
  upstream.send({ type: 'conversation.item.input_audio_transcription.completed', item_id, transcript: 'Weather?' });
  upstream.send({ type: 'response.created', response: { id: 'resp_x' } });
  const call = { type: 'function_call', call_id: 'c1', name: 'get_weather', arguments: '{"city":"Bonn"}' };
  upstream.send({ type: 'response.output_item.done', response_id: 'resp_x', item: call });
  upstream.send({ type: 'response.done', response: { id: 'resp_x', status: 'completed', usage: null } });
  await until('the call came', () => opened.messages.some(({ toolCall }) => toolCall !== undefined));
  const { toolCall } = opened.messages.find((message) => message.toolCall !== undefined)!;
  assert.deepEqual(toolCall!.functionCalls, [{ id: 'c1', name: 'get_weather', args: { city: 'Bonn' } }]);
  const heard = opened.messages.flatMap(({ serverContent }) => serverContent?.inputTranscription?.text ?? []);
  assert.deepEqual(heard, ['Wea', 'ther?']);
  opened.session.sendToolResponse({ functionResponses: { id: 'c1', name: 'get_weather', response: { output: '21' } } });
  await opened.ended();
  const told = upstream.events.find(({ item }) => (item as JsonObject | undefined)?.type === 'function_call_output')!;
  assert.deepEqual(told.item, { type: 'function_call_output', call_id: 'c1', output: '21' });
  assert.equal(upstream.events.at(-1)!.type, 'response.create');
  opened.session.close();
});

test('a caller that speaks into an answer interrupts it', async () => {
  openai.answers = 'begun';
  const opening = openai.next();
  const opened = await open('live-openai', { responseModalities: [Modality.AUDIO] });
  const upstream = await opening;
  opened.session.sendClientContent({ turns: 'Hello' });
  await until('it has begun', () => upstream.events.some(({ type }) => type === 'response.create'));
  upstream.send({ type: 'input_audio_buffer.speech_started', audio_start_ms: 0, item_id: 'i' });
  await until('it was told', () => opened.messages.some(({ serverContent }) => serverContent?.interrupted));
  opened.session.sendRealtimeInput({ text: 'Stop' });
  await opened.ended();
  openai.answers = 'whole';
  opened.session.close();
});

test('a caller that says itself when it speaks interrupts an answer with its first word', async () => {
  openai.answers = 'begun';
  const opening = openai.next();
  const opened = await open('live-openai', {
    responseModalities: [Modality.AUDIO],
    realtimeInputConfig: { automaticActivityDetection: { disabled: true } },
  });
  const upstream = await opening;
  opened.session.sendClientContent({ turns: 'Hello' });
  await until('it has begun', () => upstream.events.some(({ type }) => type === 'response.create'));
  opened.session.sendRealtimeInput({ activityStart: {} });
  await opened.ended();
  assert.ok(opened.messages.some(({ serverContent }) => serverContent?.interrupted));
  assert.equal(upstream.events.at(-1)!.type, 'response.cancel');
  openai.answers = 'whole';
  opened.session.close();
});

test('a caller that wants no interruption speaks into an answer, and gets the rest of it', async () => {
  openai.answers = 'begun';
  const opening = openai.next();
  const opened = await open('live-openai', {
    responseModalities: [Modality.AUDIO],
    realtimeInputConfig: { activityHandling: ActivityHandling.NO_INTERRUPTION },
  });
  const upstream = await opening;
  assert.match(JSON.stringify(upstream.events[0]), /"interrupt_response":false/);
  opened.session.sendClientContent({ turns: 'Hello' });
  await until('it has begun', () => upstream.events.some(({ type }) => type === 'response.create'));
  upstream.send({ type: 'input_audio_buffer.speech_started', audio_start_ms: 0, item_id: 'i' });
  upstream.send({ type: 'response.output_audio.delta', delta: 'UkVTVA==' });
  await until('the rest has come', () => JSON.stringify(opened.messages).includes('UkVTVA=='));
  assert.ok(!opened.messages.some(({ serverContent }) => serverContent?.interrupted));
  openai.answers = 'whole';
  opened.session.close();
});

test('a text into an answer of Gemini’s interrupts it, and is answered when it has stopped', async () => {
  const opening = gemini.next();
  const opened = await open('live-google', { responseModalities: [Modality.TEXT] });
  opened.session.sendClientContent({ turns: 'Hello' });
  await opened.ended();
  const live = await opening;
  const sent = () => live.messages.filter(({ clientContent }) => clientContent !== undefined).length;
  const before = sent();
  live.send({ serverContent: { modelTurn: { role: 'model', parts: [{ text: 'Once upon' }] } } });
  await until('the answer has begun', () => JSON.stringify(opened.messages).includes('Once upon'));
  opened.session.sendClientContent({ turns: 'Stop' });
  await until('Gemini hears it', () => sent() > before);
  live.send({ serverContent: { interrupted: true } });
  live.send({ serverContent: { turnComplete: true } });
  await opened.ended(3);
  assert.deepEqual(opened.closes, []);
  assert.ok(opened.messages.some(({ serverContent }) => serverContent?.interrupted));
  opened.session.close();
});

test('the result of a call that Gemini has cancelled changes nothing', async () => {
  const opening = gemini.next();
  const tools = [{ functionDeclarations: [{ name: 'look' }] }];
  const opened = await open('live-google', { responseModalities: [Modality.TEXT], tools });
  opened.session.sendClientContent({ turns: 'Hello' });
  await opened.ended();
  const live = await opening;
  live.send({ toolCall: { functionCalls: [{ id: 'c1', name: 'look', args: {} }] } });
  await until('the call came', () => opened.messages.some(({ toolCall }) => toolCall !== undefined));
  live.send({ toolCallCancellation: { ids: ['c1'] } });
  live.send({ serverContent: { modelTurn: { role: 'model', parts: [{ text: 'You said' }] } } });
  await until('the answer has begun', () => JSON.stringify(opened.messages).includes('You said'));
  const sent = live.messages.length;
  opened.session.sendToolResponse({ functionResponses: { id: 'c1', name: 'look', response: { output: 'seen' } } });
  opened.session.sendRealtimeInput({ audio: { mimeType: 'audio/pcm;rate=24000', data: 'AAAA' } });
  await until('Gemini hears what comes behind it', () => live.messages.length > sent);
  assert.ok(live.messages[sent]?.realtimeInput !== undefined, JSON.stringify(live.messages[sent]));
  live.send({ serverContent: { turnComplete: true } });
  await opened.ended(2);
  assert.deepEqual(opened.closes, []);
  assert.ok(!opened.messages.some(({ serverContent }) => serverContent?.interrupted));
  opened.session.close();
});

test('a result goes to Gemini though another call beside it was cancelled', async () => {
  const opening = gemini.next();
  const tools = [{ functionDeclarations: [{ name: 'look' }] }];
  const opened = await open('live-google', { responseModalities: [Modality.TEXT], tools });
  opened.session.sendClientContent({ turns: 'Hello' });
  await opened.ended();
  const live = await opening;
  live.send({ toolCall: { functionCalls: ['c1', 'c2'].map((id) => ({ id, name: 'look', args: {} })) } });
  await until('the calls came', () => opened.messages.some(({ toolCall }) => toolCall?.functionCalls?.length === 2));
  live.send({ toolCallCancellation: { ids: ['c2'] } });
  live.send({ serverContent: { modelTurn: { role: 'model', parts: [{ text: 'Well' }] }, turnComplete: true } });
  await opened.ended(2);
  for (const id of ['c1', 'c2'])
    opened.session.sendToolResponse({ functionResponses: { id, name: 'look', response: { output: 'seen' } } });
  const { toolResponse } = await live.heard((message) => message.toolResponse !== undefined);
  const { functionResponses } = toolResponse as { functionResponses: JsonObject[] };
  assert.deepEqual(
    functionResponses.map(({ id }) => id),
    ['c1'],
  );
  assert.deepEqual(opened.closes, []);
  opened.session.close();
});

test('each response is a row of the ledger', async () => {
  const opened = await open('live-google', { responseModalities: [Modality.AUDIO] });
  opened.session.sendClientContent({ turns: 'Hello' });
  await opened.ended();
  opened.session.close();
  const rows = async () => {
    const path = '/admin/v1/requests?endpoint=realtime&model=live-google&limit=1';
    const response = await gateway.fetch(path, { headers: { authorization: `Bearer ${adminKey}` } });
    return ((await response.json()) as { data: { usage: { input_tokens: number } }[] }).data;
  };
  await until('it is there', async () => ((await rows())[0]?.usage.input_tokens ?? 0) > 0);
});

const socketAt = (path: string) => new WebSocket(gateway.url.replace('http', 'ws') + path);
const place = '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent';
const closeOf = (socket: WebSocket) =>
  new Promise<string>((resolve) => socket.once('close', (code, reason) => resolve(`${code} ${reason}`)));

test('refusals close the session with their reason', async () => {
  await assert.rejects(open('nope', {}), /1008.*nope/);
  await assert.rejects(open('hears', {}), /1008/);
  for (const [first, closed] of [
    ['no json', /^1007 The first message must be setup/],
    ['{"clientContent": {}}', /^1007 The first message must be setup/],
    ['{"setup": {"model": 5}}', /^1007 The first message must be setup/],
  ] as const) {
    const socket = socketAt(`${place}?key=${gateway.key}`);
    socket.once('open', () => socket.send(first));
    assert.match(await closeOf(socket), closed);
  }
  const opened = await open('live-google', { responseModalities: [Modality.AUDIO] });
  (opened.session.conn as { send(message: string): void }).send('{"nothing": 1}');
  await until('it is closed', () => opened.closes.length > 0);
  assert.equal(opened.closes[0]!.code, 1007);
  assert.match(opened.closes[0]!.reason, /clientContent/);
});

test('without a key, or without a WebSocket, the answer is a plain error of Google’s', async () => {
  const socket = socketAt(`${place}?key=AIza-not-ours`);
  const status = await new Promise((resolve) => {
    socket.once('unexpected-response', (_, response) => resolve(response.statusCode));
    socket.once('error', () => undefined);
  });
  assert.equal(status, 401);
  const response = await gateway.fetch(place);
  assert.equal(response.status, 426);
  assert.match(await response.text(), /"status":"INVALID_ARGUMENT"/);
});

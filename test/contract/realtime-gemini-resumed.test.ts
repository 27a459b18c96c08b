import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import type { JsonObject } from '../../src/kernel/json.ts';
import { startGateway, testKey } from '../start-gateway.ts';
import { type GeminiLiveSession, say, startGeminiLive } from '../upstream-formats/start-gemini-live.ts';
import { HeardEvents, type RealtimeEvent } from './heard-events.ts';

/* Sessions over Gemini's Live API that outlast its connections, of some ten minutes each. */

const upstream = await startGeminiLive({ after });
const closeDoomed: (() => void)[] = [];
const doomed = await startGeminiLive({ after: (close) => closeDoomed.push(close) });
after(() => {
  for (const close of closeDoomed) close();
});
const gateway = await startGateway(
  { after: after as never },
  {
    providers: {
      google: { type: 'gemini', base_url: upstream.url, api_key: 'google-secret-1' },
      doomed: { type: 'gemini', base_url: doomed.url, api_key: 'google-secret-1' },
    },
    models: {
      live: { targets: [{ provider: 'google', model: 'gemini-live' }] },
      lost: { targets: [{ provider: 'doomed', model: 'gemini-live' }] },
    },
  },
);

class Caller extends HeardEvents {
  readonly realtime: OpenAIRealtimeWS;
  readonly closed: Promise<number>;

  constructor(model: string) {
    super();
    const { hostname, port } = new URL(gateway.url);
    const createConnection = () => connect(Number(port), hostname);
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey });
    this.realtime = new OpenAIRealtimeWS({ model, options: { createConnection } as never }, client);
    this.realtime.on('error', () => undefined);
    this.realtime.on('event', (event) => this.hear(event as unknown as RealtimeEvent));
    this.closed = new Promise((resolve) => this.realtime.socket.on('close', resolve));
  }

  send(event: RealtimeEvent): void {
    this.realtime.send(event as never);
  }

  /** A whole turn; its `response.done`. */
  async turn(words: string): Promise<JsonObject> {
    const from = this.events.length;
    const content = [{ type: 'input_text', text: words }];
    this.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } });
    this.send({ type: 'response.create' });
    return (await this.heard('response.done', from)) as unknown as JsonObject;
  }
}

/** A session that has had one turn. */
async function talking(model = 'live', at = upstream): Promise<{ caller: Caller; live: GeminiLiveSession }> {
  const opening = at.next();
  const caller = new Caller(model);
  await caller.heard('session.created');
  caller.send({ type: 'session.update', session: { type: 'realtime', instructions: 'Be brief.' } });
  await caller.heard('session.updated');
  await caller.turn('Hello');
  return { caller, live: await opening };
}

const setupOf = ({ messages }: GeminiLiveSession) => messages[0]?.setup as JsonObject;
const statusOf = ({ response }: JsonObject) => (response as JsonObject).status;
const goAway = { goAway: { timeLeft: '50s' } };

test('a session goes on when Gemini says that its connection ends soon', async () => {
  const { caller, live } = await talking();
  const next = upstream.next();
  live.mayResume('handle-1');
  live.send(goAway);
  // Gemini sees the end of the connection late, and refuses another one until then.
  live.socket.pause();
  setTimeout(() => live.socket.resume(), 300);
  const left = once(live.socket, 'close');
  const further = await next;
  assert.equal((await left)[0], 1_000, 'a normal end');
  assert.equal(statusOf(await caller.turn('And now?')), 'completed');
  assert.deepEqual(setupOf(further), { ...setupOf(live), sessionResumption: { handle: 'handle-1' } });
  assert.match(JSON.stringify(further.messages), /And now\?/);
  assert.doesNotMatch(JSON.stringify(live.messages), /And now\?/);
  assert.ok(!caller.events.some(({ type }) => type === 'error'));
  caller.realtime.close();
});

test('it leaves the connection at the end of a response, and keeps what the caller says meanwhile', async () => {
  const { caller, live } = await talking();
  live.mayResume('handle-2');
  const from = caller.events.length;
  live.send({ serverContent: { modelTurn: { parts: [{ inlineData: { mimeType: 'audio/pcm', data: 'AAAA' } }] } } });
  await caller.heard('response.output_audio.delta', from);
  live.send(goAway);
  live.send({ sessionResumptionUpdate: { resumable: false } });
  const next = upstream.next();
  say(live);
  assert.equal(statusOf((await caller.heard('response.done', from)) as unknown as JsonObject), 'completed');
  live.mayResume('handle-3');
  const pieces = ['AAAA', 'BBBB', 'CCCC', 'DDDD'];
  for (const audio of pieces) caller.send({ type: 'input_audio_buffer.append', audio });
  const further = await next;
  assert.deepEqual((await further.heard(({ setup }) => setup !== undefined)) && setupOf(further).sessionResumption, {
    handle: 'handle-3',
  });
  await further.heard((message) => JSON.stringify(message).includes('DDDD'));
  const heard = [...live.messages, ...further.messages].flatMap(({ realtimeInput }) =>
    realtimeInput === undefined ? [] : [((realtimeInput as JsonObject).audio as JsonObject).data],
  );
  assert.deepEqual(heard, pieces);
  caller.realtime.close();
});

test('a call of a response that the caller has cancelled keeps no session at its connection', async () => {
  const { caller, live } = await talking();
  live.mayResume('handle-8');
  const from = caller.events.length;
  live.send({ serverContent: { modelTurn: { parts: [{ inlineData: { mimeType: 'audio/pcm', data: 'AAAA' } }] } } });
  await caller.heard('response.output_audio.delta', from);
  caller.send({ type: 'response.cancel' });
  // Nothing answers a cancellation before the response ends.
  caller.send({ type: 'input_audio_buffer.clear' });
  await caller.heard('input_audio_buffer.cleared', from);
  live.send({ toolCall: { functionCalls: [{ id: 'call_8', name: 'add', args: {} }] } });
  assert.equal(statusOf((await caller.heard('response.done', from)) as unknown as JsonObject), 'cancelled');
  const next = upstream.next();
  live.send(goAway);
  assert.equal(statusOf(await caller.turn('And now?')), 'completed');
  assert.match(JSON.stringify((await next).messages), /And now\?/);
  caller.realtime.close();
});

test('a connection that breaks ends the response that runs, and not the session', async () => {
  const { caller, live } = await talking();
  live.mayResume('handle-4');
  const quiet = upstream.next();
  live.socket.close(1011, 'Deadline expired before operation could complete.');
  const second = await quiet;
  assert.equal(statusOf(await caller.turn('Still there?')), 'completed');
  second.mayResume('handle-5');
  const from = caller.events.length;
  const modelTurn = { parts: [{ inlineData: { mimeType: 'audio/pcm', data: 'AAAA' } }] };
  second.send({ serverContent: { modelTurn }, usageMetadata: { promptTokenCount: 50, responseTokenCount: 7 } });
  await caller.heard('response.output_audio.delta', from);
  second.socket.terminate();
  const { response } = (await caller.heard('response.done', from)) as unknown as { response: JsonObject };
  assert.equal(response.status, 'failed');
  assert.equal((response.usage as JsonObject).total_tokens, 57, 'what was counted until then is paid for');
  assert.match(JSON.stringify(response.status_details), /connection to the provider broke/);
  assert.equal(statusOf(await caller.turn('Once more')), 'completed');
  caller.realtime.close();
});

test('settings change within a session, before what the caller says next', async () => {
  const { caller, live } = await talking();
  live.mayResume('handle-6');
  await caller.turn('And then?');
  const next = upstream.next();
  const tools = [{ type: 'function', name: 'add', parameters: { type: 'object' } }];
  caller.send({ type: 'session.update', session: { type: 'realtime', instructions: 'Be long.', tools } });
  const turn = caller.turn('Add');
  const further = await next;
  assert.equal(statusOf(await turn), 'completed');
  assert.deepEqual(setupOf(further).systemInstruction, { parts: [{ text: 'Be long.' }] });
  assert.match(JSON.stringify(setupOf(further).tools), /"add"/);
  assert.match(JSON.stringify(further.messages.slice(1)), /Add/);
  assert.ok(!caller.events.some(({ type }) => type === 'error'));
  caller.realtime.close();
});

test('a session without a provider ends, and says so', async () => {
  const { caller, live } = await talking('lost', doomed);
  live.mayResume('handle-7');
  await caller.turn('And then?');
  const from = caller.events.length;
  for (const close of closeDoomed.splice(0)) close();
  const { error } = (await caller.heard('error', from)) as unknown as { error: JsonObject };
  assert.match(String(error.message), /connection to the provider broke/);
  assert.equal(await caller.closed, 1011);
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { after, test } from 'node:test';
import { WebSocket } from 'ws';
import { SocketCaller } from '../contract/heard-events.ts';
import { startGateway, testKey } from '../start-gateway.ts';
import { until } from '../until.ts';
import { startRealtime } from '../upstream-formats/start-realtime.ts';

/* Rules for routes over realtime sessions, as each begins. */

const upstream = await startRealtime({ after });
const provider = { type: 'openai', base_url: `${upstream.url}/v1`, api_key: 'k' };
const gateway = await startGateway(
  { after: after as never },
  {
    providers: { up: provider, other: provider },
    models: {
      talk: { targets: ['up/gpt-realtime'] },
      mini: { targets: ['up/gpt-realtime-mini', 'other/gpt-realtime-mini'] },
      hears: { type: 'transcription', targets: ['up/gpt-4o-transcribe'] },
      notes: { type: 'transcription', targets: ['up/gpt-4o-mini-transcribe'] },
    },
    accounts: { dev: {} },
    routes: {
      closed: { when: 'headers["x-night"] == "1"', refuse: { message: 'Not at night.', status: 403 } },
      cheap: {
        when: 'endpoint == "realtime" && model == "talk" && "audio" in media',
        model: 'mini',
        targets: ['other'],
      },
      plain: { when: 'model == "hears"', model: 'notes' },
    },
  },
);

function open(name: string, headers: Record<string, string> = {}): WebSocket {
  const all = { authorization: `Bearer ${testKey}`, ...headers };
  return new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/realtime?model=${name}`, { headers: all });
}

test('a session goes to the model and the targets of a rule', async () => {
  const socket = open('talk');
  const [response] = (await once(socket, 'upgrade')) as [IncomingMessage];
  assert.equal(response.headers['x-culvert-provider'], 'other');
  assert.equal(response.headers['x-culvert-model'], 'gpt-realtime-mini');
  socket.terminate();
});

for (const [name, session, there] of [
  ['talk', { type: 'realtime', model: 'talk' }, { type: 'realtime', model: 'gpt-realtime-mini' }],
  [
    'hears&intent=transcription',
    { type: 'transcription', audio: { input: { transcription: { model: 'hears' } } } },
    { type: 'transcription', audio: { input: { transcription: { model: 'gpt-4o-mini-transcribe' } } } },
  ],
] as const) {
  test(`settings may repeat the name by which a session was opened, whatever its model is: ${name}`, async () => {
    const opening = upstream.next();
    const caller = new SocketCaller(open(name));
    const { events } = await opening;
    await caller.heard('session.created');
    caller.send('session.update', { event_id: 'mine', session });
    const mine = () => events.find(({ event_id }) => event_id === 'mine');
    await until(
      'it is taken or refused',
      () => mine() !== undefined || caller.events.some(({ type }) => type === 'error'),
    );
    assert.deepEqual(mine()?.session, there);
    await caller.close();
  });
}

test('a session that a rule refuses gets a plain answer', async () => {
  const socket = open('talk', { 'x-night': '1' });
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  assert.equal(response.statusCode, 403);
  assert.match(Buffer.concat(await response.toArray()).toString(), /Not at night\. \(rule 'closed'\)/);
});

import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { JsonObject } from '../../src/kernel/json.ts';

/** A session at the upstream. */
export interface RealtimeSession {
  /** Path and query that it was opened with. */
  path: string;
  headers: IncomingHttpHeaders;
  /** Events of its client, oldest first. */
  events: (JsonObject & { type: string })[];
  /** Says what is not scripted. */
  send(event: JsonObject): void;
  close(code: number, reason?: string): void;
  /** Ends the connection without a close frame. */
  cut(): void;
  /** Resolves with its close code when it is over. */
  closed: Promise<number>;
  socket: WebSocket;
}

export interface RealtimeUpstream {
  /** Such as `http://127.0.0.1:41999`; base URLs add `/v1`. */
  url: string;
  sessions: RealtimeSession[];
  /** Plain requests, such as offers of WebRTC. */
  posts: { path: string; headers: IncomingHttpHeaders; body: string }[];
  /** Resolves with the next session that opens. */
  next(): Promise<RealtimeSession>;
  /** The next handshakes get these answers instead of a session, one each. */
  refuse(...answers: { status: number; body: JsonObject }[]): void;
  /** Whether `response.create` is answered at once, or only as far as `response.created`. */
  answers: 'whole' | 'begun';
}

/** What a response used, as OpenAI's reference shows it. */
export const realtimeUsage = {
  total_tokens: 253,
  input_tokens: 132,
  output_tokens: 121,
  input_token_details: {
    text_tokens: 119,
    audio_tokens: 13,
    image_tokens: 0,
    cached_tokens: 64,
    cached_tokens_details: { text_tokens: 64, audio_tokens: 0, image_tokens: 0 },
  },
  output_token_details: { text_tokens: 30, audio_tokens: 91 },
};

/**
 * OpenAI's realtime API as its reference says (https://platform.openai.com/docs/api-reference/realtime): it answers
 * events as a model would that says `Hello.` and a little sound, or hears three seconds that say so.
 */
export async function startRealtime(t: { after(close: () => void): void }): Promise<RealtimeUpstream> {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { method = '', url = '', headers } = request;
    upstream.posts.push({ path: url, headers, body });
    if (method !== 'POST' || !url.startsWith('/v1/realtime/calls')) return response.writeHead(404).end('{}');
    if (url.endsWith('/hangup')) return response.writeHead(200).end();
    const place = { 'content-type': 'application/sdp', location: '/v1/realtime/calls/rtc_1' };
    return response.writeHead(201, place).end('v=0\r\ns=answer\r\n');
  });
  const webSockets = new WebSocketServer({ noServer: true, maxPayload: 64 * 1024 * 1024 });
  const refusals: { status: number; body: JsonObject }[] = [];
  const waiting: ((session: RealtimeSession) => void)[] = [];
  const upstream: RealtimeUpstream = {
    url: '',
    sessions: [],
    posts: [],
    next: () => new Promise((resolve) => waiting.push(resolve)),
    refuse: (...answers) => void refusals.push(...answers),
    answers: 'whole',
  };
  server.on('upgrade', (request, connection, head) => {
    const refusal = refusals.shift();
    if (refusal !== undefined) {
      const body = JSON.stringify(refusal.body);
      const lines = [
        `HTTP/1.1 ${refusal.status} No`,
        'content-type: application/json',
        `content-length: ${body.length}`,
      ];
      connection.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
      return;
    }
    webSockets.handleUpgrade(request, connection, head, (socket) => {
      const session: RealtimeSession = {
        path: request.url ?? '',
        headers: request.headers,
        events: [],
        send: (event) => socket.send(JSON.stringify(event)),
        close: (code, reason) => socket.close(code, reason),
        cut: () => socket.terminate(),
        closed: new Promise((resolve) => socket.once('close', resolve)),
        socket,
      };
      speak(upstream, session);
      upstream.sessions.push(session);
      waiting.shift()?.(session);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  upstream.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.after(() => {
    for (const { socket } of upstream.sessions) socket.terminate();
    server.close();
    server.closeAllConnections();
  });
  return upstream;
}

function speak(upstream: RealtimeUpstream, session: RealtimeSession): void {
  let count = 0;
  let running: string | null = null;
  const send = (type: string, members: JsonObject) => {
    count += 1;
    session.send({ type, event_id: `event_${count}`, ...members });
  };
  const done = (status: string) => {
    send('response.done', {
      response: { object: 'realtime.response', id: running!, status, output: [], usage: realtimeUsage },
    });
    running = null;
  };
  const isTranscription = session.path.includes('intent=transcription');
  const told = isTranscription
    ? { type: 'transcription', id: 'sess_1', object: 'realtime.transcription_session' }
    : { type: 'realtime', id: 'sess_1', object: 'realtime.session' };
  send('session.created', { session: told });
  session.socket.on('message', (data) => {
    const event = JSON.parse(String(data)) as JsonObject & { type: string };
    session.events.push(event);
    switch (event.type) {
      case 'session.update':
        return send('session.updated', { session: event.session! });
      case 'conversation.item.create':
        return send('conversation.item.done', { item: event.item! });
      case 'input_audio_buffer.commit': {
        count += 1;
        const item_id = `item_${count}`;
        send('input_audio_buffer.committed', { previous_item_id: null, item_id });
        if (!isTranscription || upstream.answers === 'begun') return;
        const type = 'conversation.item.input_audio_transcription';
        const place = { item_id, content_index: 0 };
        send(`${type}.delta`, { ...place, delta: 'Hel' });
        return send(`${type}.completed`, { ...place, transcript: 'Hello.', usage: { type: 'duration', seconds: 3 } });
      }
      case 'response.cancel':
        if (running !== null) done('cancelled');
        return;
      case 'response.create': {
        count += 1;
        running = `resp_${count}`;
        send('response.created', { response: { object: 'realtime.response', id: running, status: 'in_progress' } });
        if (upstream.answers === 'begun') return;
        send('response.output_text.delta', { response_id: running, delta: 'Hel' });
        send('response.output_text.delta', { response_id: running, delta: 'lo.' });
        send('response.output_audio.delta', { response_id: running, delta: Buffer.alloc(480).toString('base64') });
        return done('completed');
      }
    }
  });
}

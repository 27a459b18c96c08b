import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { JsonObject } from '../../src/kernel/json.ts';

/** A session at Gemini's Live API. */
export interface GeminiLiveSession {
  path: string;
  headers: IncomingHttpHeaders;
  /** Messages of its client, oldest first. */
  messages: JsonObject[];
  send(message: JsonObject): void;
  /** Resolves with the first message that matches, also one that has come. */
  heard(matches: (message: JsonObject) => boolean): Promise<JsonObject>;
  /** Gives a handle by which the session may go on over another connection, once this one is closed. */
  mayResume(handle: string): void;
  socket: WebSocket;
}

export interface GeminiLiveUpstream {
  url: string;
  sessions: GeminiLiveSession[];
  next(): Promise<GeminiLiveSession>;
}

/** What a turn used, as Gemini tells it. */
export const liveUsage = {
  promptTokenCount: 50,
  cachedContentTokenCount: 10,
  responseTokenCount: 40,
  thoughtsTokenCount: 5,
  totalTokenCount: 95,
  promptTokensDetails: [
    { modality: 'TEXT', tokenCount: 20 },
    { modality: 'AUDIO', tokenCount: 30 },
  ],
  responseTokensDetails: [
    { modality: 'AUDIO', tokenCount: 35 },
    { modality: 'TEXT', tokenCount: 5 },
  ],
};

/** The same in the words of Vertex, as Google's SDK reads them. */
function vertexUsage() {
  const {
    responseTokenCount: candidatesTokenCount,
    responseTokensDetails: candidatesTokensDetails,
    ...rest
  } = liveUsage;
  return { ...rest, candidatesTokenCount, candidatesTokensDetails };
}

/**
 * Gemini's Live API as its reference says (https://ai.google.dev/api/live), and Vertex' by the path that it is opened at: it takes the setup first, and answers a turn
 * of the client with a little sound and its transcript, or with text. Tests say the rest by `send`. Messages are binary
 * frames, as Google's are.
 */
export async function startGeminiLive(t: { after(close: () => void): void }): Promise<GeminiLiveUpstream> {
  const server = createServer((_, response) => response.writeHead(404).end('{}'));
  const webSockets = new WebSocketServer({ server });
  const waiting: ((session: GeminiLiveSession) => void)[] = [];
  const resumable = new Map<string, WebSocket>();
  const upstream: GeminiLiveUpstream = {
    url: '',
    sessions: [],
    next: () => new Promise((resolve) => waiting.push(resolve)),
  };
  webSockets.on('connection', (socket, request) => {
    const awaited: (() => void)[] = [];
    const session: GeminiLiveSession = {
      path: request.url ?? '',
      headers: request.headers,
      messages: [],
      send: (message) => socket.send(Buffer.from(JSON.stringify(message))),
      async heard(matches) {
        for (;;) {
          const found = session.messages.find(matches);
          if (found !== undefined) return found;
          await new Promise<void>((resolve) => awaited.push(resolve));
        }
      },
      mayResume(handle) {
        resumable.set(handle, socket);
        session.send({ sessionResumptionUpdate: { newHandle: handle, resumable: true } });
      },
      socket,
    };
    socket.on('message', (data) => {
      const message = JSON.parse(String(data)) as JsonObject;
      session.messages.push(message);
      const { setup } = message as { setup?: { sessionResumption?: { handle?: string } } };
      const earlier = resumable.get(setup?.sessionResumption?.handle ?? '');
      if (earlier !== undefined && earlier.readyState !== earlier.CLOSED) socket.close(1011, 'the session is open');
      else answer(session, message);
      for (const look of awaited.splice(0)) look();
    });
    upstream.sessions.push(session);
    waiting.shift()?.(session);
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

function answer(session: GeminiLiveSession, message: JsonObject): void {
  if (message.setup !== undefined) {
    if (session.messages.length > 1) return session.socket.close(1007, 'setup must be the first message');
    return session.send({ setupComplete: {} });
  }
  if (session.messages[0]?.setup === undefined) return session.socket.close(1007, 'setup must be the first message');
  const { clientContent } = message as { clientContent?: { turnComplete?: boolean } };
  if (clientContent?.turnComplete === true) say(session);
}

/** A whole turn of the model. */
export function say(session: GeminiLiveSession, usage: 'with the end' | 'behind the end' = 'with the end'): void {
  const { setup } = session.messages[0] as { setup: { generationConfig: { responseModalities: string[] } } };
  if (setup.generationConfig.responseModalities.includes('TEXT')) {
    for (const text of ['Hel', 'lo.'])
      session.send({ serverContent: { modelTurn: { role: 'model', parts: [{ text }] } } });
  } else {
    const data = Buffer.alloc(480).toString('base64');
    const parts = [{ inlineData: { mimeType: 'audio/pcm;rate=24000', data } }];
    session.send({ serverContent: { modelTurn: { role: 'model', parts } } });
    session.send({ serverContent: { outputTranscription: { text: 'Hello.' } } });
  }
  session.send({ serverContent: { generationComplete: true } });
  const usageMetadata = session.path.includes('.aiplatform.') ? vertexUsage() : liveUsage;
  if (usage === 'with the end') return session.send({ serverContent: { turnComplete: true }, usageMetadata });
  session.send({ serverContent: { turnComplete: true } });
  session.send({ usageMetadata });
}

import { connect } from 'node:net';
import type { TestContext } from 'node:test';
import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import type { JsonObject } from '../../src/kernel/json.ts';
import { testKey } from '../start-gateway.ts';
import { HeardEvents, type RealtimeEvent } from './heard-events.ts';

/** A caller of `/v1/realtime` by OpenAI's SDK. */
export class CascadeCaller extends HeardEvents {
  readonly realtime: OpenAIRealtimeWS;
  readonly closed: Promise<number>;

  constructor(url: string, model: string, apiKey: string) {
    super();
    const { hostname, port } = new URL(url);
    const createConnection = () => connect(Number(port), hostname);
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey });
    this.realtime = new OpenAIRealtimeWS({ model, options: { createConnection } as never }, client);
    this.realtime.on('error', () => undefined);
    this.realtime.socket.on('error', ({ message }) => this.hear({ type: `socket error: ${message}` }));
    this.realtime.on('event', (event) => this.hear(event as unknown as RealtimeEvent));
    this.closed = new Promise((resolve) => this.realtime.socket.once('close', resolve));
  }

  send(type: string, members: JsonObject = {}): void {
    this.realtime.send({ type, ...members } as never);
  }

  /** The error event that comes next for this event. */
  async refused(type: string, members: JsonObject): Promise<JsonObject> {
    const from = this.events.length;
    this.send(type, members);
    return (await this.heard('error', from)).error as JsonObject;
  }

  /** Asks for a response, and resolves to it when it is done. */
  async response(response: JsonObject = {}): Promise<JsonObject> {
    const from = this.events.length;
    this.send('response.create', { response });
    return (await this.heard('response.done', from)).response as JsonObject;
  }
}

/** A caller whose session has these settings. Its socket is closed after the test, which also ends where it failed. */
export async function openCascade(
  t: Pick<TestContext, 'after'>,
  gateway: { url: string },
  session: JsonObject,
  { model = 'talk', key = testKey } = {},
): Promise<CascadeCaller> {
  const caller = new CascadeCaller(gateway.url, model, key);
  t.after(() => caller.realtime.socket.terminate());
  await caller.heard('session.created');
  caller.send('session.update', { session: { type: 'realtime', ...session } });
  await caller.heard('session.updated');
  return caller;
}

export const userSays = (text: string) => ({
  item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
});

/** A tone, as loud as speech, or silence. */
export function sound(ms: number, level: number): string {
  const samples = Buffer.alloc(ms * 24 * 2);
  for (let at = 0; at < samples.length / 2; at += 1)
    samples.writeInt16LE(Math.round(Math.sin(at / 10) * level * 32_767), at * 2);
  return samples.toString('base64');
}

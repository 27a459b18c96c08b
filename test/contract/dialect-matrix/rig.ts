import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, type TestContext } from 'node:test';
import type { JsonObject } from '../../../src/kernel/json.ts';
import { cert, key, trustLoopbackCertificate } from '../../loopback-certificate.ts';
import { startGateway, type TestGateway } from '../../start-gateway.ts';
import { startUpstream, type Upstream } from '../../start-upstream.ts';
import { chatCaller } from './caller-chat.ts';
import { geminiCaller } from './caller-gemini.ts';
import { messagesCaller } from './caller-messages.ts';
import { responsesCaller } from './caller-responses.ts';
import {
  type Ask,
  type CallerFormat,
  type CallerId,
  type Delivery,
  type Heard,
  type UpstreamId,
  upstreamIds,
} from './formats.ts';
import { serverEvents } from './server-events.ts';
import { aliasOf, type Twin, upstreamFormats } from './upstreams.ts';

export const callerFormats: Readonly<Record<CallerId, CallerFormat>> = {
  'openai-chat': chatCaller,
  'anthropic-messages': messagesCaller,
  'openai-responses': responsesCaller,
  gemini: geminiCaller,
};

export interface Exchange extends Heard {
  /** The upstream's request; null when none came. */
  sent: JsonObject | null;
  /** Path and query of that. */
  sentTo: string;
  /** `x-culvert-dropped`. */
  dropped: string | null;
  /** The whole answer as text. */
  text: string;
}

export interface Rig {
  gateway: TestGateway;
  upstreams: Readonly<Record<UpstreamId, Upstream>>;
  /** Address of `picture`. */
  pictureUrl: string;
  /** A twin that nobody has called. */
  fresh(upstream: UpstreamId): Twin;
  ask(way: Way, ask: Ask, spec: string): Promise<Exchange>;
}

export interface Way {
  caller: CallerId;
  upstream: UpstreamId;
  delivery: Delivery;
  twin: Twin;
}

/** One gateway over one mock upstream a format, each with twins enough for all that fails. */
export async function startRig(twinsPerUpstream: number): Promise<Rig> {
  const started = await Promise.all(upstreamIds.map(async (id) => [id, await startUpstream()] as const));
  const upstreams = Object.fromEntries(started) as Record<UpstreamId, Upstream>;
  const providers: Record<string, unknown> = {};
  const models: Record<string, unknown> = {};
  for (const id of upstreamIds) {
    const { provider, model } = upstreamFormats[id];
    for (const twin of ['well', ...Array(twinsPerUpstream).keys()] as const) {
      const alias = aliasOf(id, twin);
      providers[alias] = provider(upstreams[id].url);
      models[alias] = { targets: [{ provider: alias, model }], attempts: 1 };
      models[aliasOf(id, twin, 'asked-whole')] = { targets: [{ provider: alias, model, stream: false }], attempts: 1 };
    }
  }
  const pictures = await servePicture();
  const gateway = await startGateway(
    { after: after as TestContext['after'] },
    { providers, models, fetch: { allow_private: [pictures.host] } },
  );
  after(() => Promise.all(upstreamIds.map((id) => upstreams[id].close())));
  await gateway.modelsKnown;

  const used = new Map<UpstreamId, number>();
  return {
    gateway,
    upstreams,
    pictureUrl: `https://${pictures.host}/red.png`,
    fresh(upstream) {
      const next = used.get(upstream) ?? 0;
      if (next >= twinsPerUpstream) throw new Error(`more failures over ${upstream} than twins of it`);
      used.set(upstream, next + 1);
      return next;
    },
    async ask({ caller, upstream, delivery, twin }, ask, spec) {
      const mock = upstreams[upstream];
      mock.clear();
      mock.script('*', [spec]);
      const format = callerFormats[caller];
      const model = aliasOf(upstream, twin, delivery);
      const json = format.body(model, ask, delivery);
      const response = await gateway.fetch(format.path(model, delivery), { json });
      const text = await response.text();
      const request = mock.requests().at(-1);
      return {
        ...heard(format, response, text),
        text,
        sent: (request?.body ?? null) as JsonObject | null,
        sentTo: request?.path ?? '',
        dropped: response.headers.get('x-culvert-dropped'),
      };
    },
  };
}

// One red pixel.
export const picture =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

async function servePicture(): Promise<{ host: string }> {
  trustLoopbackCertificate();
  const server = createServer({ key, cert }, (_request, response) => {
    response.writeHead(200, { 'content-type': 'image/png' });
    response.end(Buffer.from(picture, 'base64'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function heard(format: CallerFormat, response: Response, text: string): Heard {
  const { status, headers } = response;
  if (headers.get('content-type')?.startsWith('text/event-stream')) {
    return { status, headers, ...format.stream(serverEvents(text)) };
  }
  const body = JSON.parse(text) as JsonObject;
  if (status !== 200) return { status, headers, seen: null, error: format.errorOf(body), clean: false };
  return { status, headers, seen: format.whole(body), error: null, clean: true };
}

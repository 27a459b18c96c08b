import type { ClientSecrets } from '../../../books/auth/client-secrets.ts';
import type { JsonSchema } from '../../../formats/neutral/described-check.ts';
import { placeCall } from '../../../inference/families/realtime/place-call.ts';
import type { RealtimeServices } from '../../../inference/families/realtime/services.ts';
import { refuse } from '../../../inference/spine/sink.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import { factsOf } from '../../../kernel/failure-facts.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { parseObject } from '../../../kernel/parse-object.ts';
import type { Spool } from '../../../net/spool.ts';
import type { Exchange, Route } from '../../exchange.ts';
import { linkPathOf } from '../../link-base.ts';
import { modelCallOf } from '../../model-call.ts';
import { readBody } from '../../read-body.ts';
import { readMultipart } from '../../read-multipart.ts';
import { requestedSession, sessionCallOf } from '../../realtime-call.ts';
import { keyRoute } from '../key-route.ts';

export interface CallsParts {
  services: RealtimeServices & { spool: Spool };
  secrets: ClientSecrets;
}

/** An offer is some kilobytes; the settings of a session may hold long instructions and tools. */
const offerBytesMax = 1024 * 1024;

/** `POST /v1/realtime/calls`: an offer of WebRTC alone (`application/sdp`), or in a form with the session. */
export function callsRoute(parts: CallsParts): Route {
  return keyRoute('POST /v1/realtime/calls', 'one', {
    lets: parts.secrets.principal,
    endpoint: 'realtime',
    summary: 'Talk to a model over WebRTC: the offer (SDP) goes to the provider, its answer comes back',
    body: { form: 'multipart/form-data', schema: callSchema },
    handle: (exchange) => answer(parts, exchange),
  });
}

function callSchema(): JsonSchema {
  return {
    type: 'object',
    required: ['sdp'],
    properties: {
      sdp: { type: 'string', description: 'The offer of WebRTC. It may also be the whole body, as application/sdp.' },
      session: {
        type: 'object',
        description: 'Its model and settings; with a client secret, what differs from those.',
      },
    },
  };
}

async function answer(parts: CallsParts, exchange: Exchange): Promise<void> {
  const { services, secrets } = parts;
  const { client, request, search } = exchange;
  const call = modelCallOf(exchange);
  if (call === null) return;
  const refused = (failure: Failure) => refuse(client, failure, call.admitted.headers);
  const offer = await readOffer(parts, exchange);
  if (offer === null) return;
  if (isFailure(offer)) return refused(offer);
  const { model = new URLSearchParams(search).get('model'), ...settings } = offer.session ?? {};
  if (model !== null && typeof model !== 'string') return refused(invalid('session.model', 'model must be a string.'));
  const session = requestedSession(secrets, request.headers, model, settings);
  if (isFailure(session)) return refused(session);
  const basePath = linkPathOf(request, services.snapshots.current.config.server);
  await placeCall(services, { ...sessionCallOf(services, exchange, call), ...session, sdp: offer.sdp, basePath });
}

interface Offer {
  sdp: string;
  session: JsonObject | null;
}

/** Null: the caller left while sending. */
async function readOffer({ services: { spool } }: CallsParts, exchange: Exchange): Promise<Offer | Failure | null> {
  const type = exchange.request.headers['content-type'] ?? '';
  if (!/^multipart\/form-data\b/i.test(type)) {
    if (!/^application\/sdp\b/i.test(type)) {
      return {
        kind: 'unsupported-media-type',
        received: type || null,
        expected: 'application/sdp or multipart/form-data',
      };
    }
    const body = await readBody(exchange, offerBytesMax);
    return Buffer.isBuffer(body) ? offerOf(body.toString('utf8'), null) : body;
  }
  const form = await readMultipart(exchange, spool, { bodyBytes: offerBytesMax, files: 2 });
  if (form === null || isFailure(form)) return form;
  try {
    const parts = new Map(form.fields.map(({ name, value }) => [name, value]));
    // Clients may send either as a file.
    for (const { name, file } of form.files) {
      const pieces: Buffer[] = [];
      for await (const piece of file.read()) pieces.push(piece);
      parts.set(name, Buffer.concat(pieces).toString('utf8'));
    }
    return offerOf(parts.get('sdp') ?? '', parts.get('session') ?? null);
  } finally {
    await form.release();
  }
}

function offerOf(sdp: string, session: string | null): Offer | Failure {
  if (!sdp.startsWith('v=0')) return invalid('sdp', 'sdp must be an offer of WebRTC, which begins with v=0.');
  if (session === null) return { sdp, session: null };
  const parsed = parseObject(Buffer.from(session), "'session'");
  if (isFailure(parsed)) return invalid('session', factsOf(parsed, 0).message);
  const { body } = parsed;
  if ((body.type ?? 'realtime') !== 'realtime') return invalid('session.type', conversationsOnly);
  return { sdp, session: body };
}

const conversationsOnly = "A call over WebRTC needs the type 'realtime'. Transcriptions are served over a WebSocket.";

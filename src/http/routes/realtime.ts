import type { ClientSecrets } from '../../auth/client-secrets.ts';
import { openAiChat } from '../../inference/dialects/openai-chat/index.ts';
import { openSession } from '../../inference/realtime/open-session.ts';
import type { RealtimeServices } from '../../inference/realtime/services.ts';
import { refuse } from '../../inference/spine/sink.ts';
import { type Failure, invalid } from '../../kernel/failure.ts';
import type { Exchange, Route } from '../exchange.ts';
import { modelCallOf } from '../model-call.ts';
import { askedOf, sessionCallOf } from '../realtime-call.ts';
import { acceptWebSocket, handshakeFault, protocolsOf, withProtocolKey } from '../web-socket.ts';
import { type CallsParts, callsRoute } from './realtime-calls.ts';
import { clientSecretRoutes } from './realtime-secrets.ts';

export interface RealtimeParts extends CallsParts {
  services: RealtimeServices & CallsParts['services'];
  secrets: ClientSecrets;
}

/** OpenAI's realtime API, over any provider that holds such sessions. */
export function realtimeRoutes(parts: RealtimeParts): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/realtime',
      auth: 'key',
      lets: parts.secrets.principal,
      quota: 'one',
      endpoint: 'realtime',
      dialect: openAiChat,
      webSocket: true,
      summary: 'Talk to a model over a WebSocket (?model=): sound and text, both ways',
      handle: (exchange) => answer(parts, exchange),
    },
    callsRoute(parts),
    ...clientSecretRoutes(parts),
  ];
}

async function answer({ services, secrets }: RealtimeParts, exchange: Exchange): Promise<void> {
  const { client, upgrade, request, search } = exchange;
  const call = modelCallOf(exchange);
  if (call === null) return;
  const query = new URLSearchParams(search);
  const refused = (failure: Failure) => refuse(client, failure, call.admitted.headers);
  const wrong = upgrade === null ? plainRequest : (handshakeFault(request) ?? unservedIn(query));
  if (wrong !== null) return refused(wrong);
  // Azure's SDKs name a deployment.
  const named = query.get('model') ?? query.get('deployment');
  const asked = askedOf(secrets, withProtocolKey(request.headers), named, null);
  if ('kind' in asked) return refused(asked);
  // SDKs in browsers ask for the older events by a subprotocol.
  const isBeta = protocolsOf(request.headers).includes('openai-beta.realtime-v1');
  const callerHeaders = isBeta ? { ...call.callerHeaders, 'openai-beta': 'realtime=v1' } : call.callerHeaders;
  await openSession(services, {
    ...sessionCallOf(services, exchange, { ...call, callerHeaders }, asked),
    accept: (headers, messageBytesMax) => acceptWebSocket(exchange, { headers, messageBytesMax }),
  });
}

const plainRequest: Failure = {
  kind: 'upgrade-required',
  to: 'websocket',
  message: 'This address takes WebSockets. Open wss://…/v1/realtime?model=MODEL.',
};
/** What sessions of other kinds are asked for by. */
function unservedIn(query: URLSearchParams): Failure | null {
  if (query.has('call_id'))
    return invalid('call_id', 'A session that runs already cannot be joined here. Name a model.');
  if (query.has('intent')) {
    return invalid('intent', 'Sessions that only transcribe are not served here. Use /v1/audio/transcriptions.');
  }
  return null;
}

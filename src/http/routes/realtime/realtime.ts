import type { ClientSecrets } from '../../../books/auth/client-secrets.ts';
import { openSession } from '../../../inference/families/realtime/open-session.ts';
import { openTranscription } from '../../../inference/families/realtime/open-transcription.ts';
import type { RealtimeServices } from '../../../inference/families/realtime/services.ts';
import { SocketEnd } from '../../../inference/families/realtime/socket-end.ts';
import { type HeaderList, refuse } from '../../../inference/spine/sink.ts';
import { type Failure, invalid, isFailure } from '../../../kernel/failure.ts';
import { acceptWebSocket, handshakeFault, protocolsOf, withProtocolKey } from '../../accept-web-socket.ts';
import type { Exchange, Route } from '../../exchange.ts';
import { modelCallOf } from '../../model-call.ts';
import { noModel, requestedSession, sessionCallOf } from '../../realtime-call.ts';
import { keyRoute } from '../key-route.ts';
import { type CallsParts, callsRoute } from './realtime-calls.ts';
import { clientSecretRoutes } from './realtime-secrets.ts';

export interface RealtimeParts extends CallsParts {
  services: RealtimeServices & CallsParts['services'];
  secrets: ClientSecrets;
}

/** OpenAI's realtime API, over any provider that holds such sessions. */
export function realtimeRoutes(parts: RealtimeParts): Route[] {
  return [
    keyRoute('GET /v1/realtime', 'one', {
      lets: parts.secrets.principal,
      endpoint: 'realtime',
      webSocket: true,
      summary: 'Talk to a model over a WebSocket (?model=): sound and text, both ways',
      handle: (exchange) => answer(parts, exchange),
    }),
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
  const session = requestedSession(secrets, withProtocolKey(request.headers, search), named, null);
  const isTranscription = query.has('intent');
  const isUnnamed = isTranscription && session === noModel;
  if (isFailure(session) && !isUnnamed) return refused(session);
  // SDKs in browsers ask for the older events by a subprotocol.
  const isBeta = protocolsOf(request.headers).includes('openai-beta.realtime-v1');
  const callerHeaders = isBeta ? { ...call.callerHeaders, 'openai-beta': 'realtime=v1' } : call.callerHeaders;
  const opened = {
    ...sessionCallOf(services, exchange, { ...call, callerHeaders }),
    async accept(headers: HeaderList, messageBytesMax: number) {
      const socket = await acceptWebSocket(exchange, { headers, messageBytesMax });
      return socket === null ? null : new SocketEnd(socket);
    },
  };
  if (isFailure(session)) return openTranscription(services, opened);
  const kind = isTranscription || session.settings?.type === 'transcription' ? 'transcription' : 'realtime';
  await openSession(services, { ...opened, ...session, kind, created: 'untold' });
}

const plainRequest: Failure = {
  kind: 'upgrade-required',
  to: 'websocket',
  message: 'This address takes WebSockets. Open wss://…/v1/realtime?model=MODEL.',
};
/** The failure of a request for a session of another kind. */
function unservedIn(query: URLSearchParams): Failure | null {
  if (query.has('call_id'))
    return invalid('call_id', 'A session that runs already cannot be joined here. Name a model.');
  const intent = query.get('intent');
  if (intent !== null && intent !== 'transcription') return invalid('intent', "intent must be 'transcription'.");
  return null;
}

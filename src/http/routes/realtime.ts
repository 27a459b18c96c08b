import type { KeyRing } from '../../auth/key-ring.ts';
import { openAiChat } from '../../inference/dialects/openai-chat/index.ts';
import { errorEvent } from '../../inference/dialects/realtime/events.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { openSession } from '../../inference/realtime/open-session.ts';
import { refuse } from '../../inference/spine/sink.ts';
import { type Failure, factsOf, invalid } from '../../kernel/failure.ts';
import { newRequestId } from '../../kernel/ids.ts';
import { type Exchange, errorContextOf, type Route } from '../exchange.ts';
import { modelCallOf } from '../model-call.ts';
import { refusalOf } from '../refusal.ts';
import { acceptWebSocket, handshakeFault, protocolsOf } from '../web-socket.ts';

/** `/v1/realtime`: OpenAI's realtime API, over any provider that holds such sessions. */
export function realtimeRoutes(services: Services, ring: Pick<KeyRing, 'principalOf'>): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/realtime',
      auth: 'key',
      quota: 'one',
      endpoint: 'realtime',
      dialect: openAiChat,
      webSocket: true,
      summary: 'Talk to a model over a WebSocket (?model=): sound and text, both ways',
      handle: (exchange) => answer({ ...services, principalOf: ring.principalOf }, exchange),
    },
  ];
}

async function answer(services: Parameters<typeof openSession>[0], exchange: Exchange): Promise<void> {
  const { client, upgrade, request, search } = exchange;
  const call = modelCallOf(exchange);
  if (call === null) return;
  const query = new URLSearchParams(search);
  // Azure's SDKs name a deployment.
  const model = query.get('model') ?? query.get('deployment');
  const wrong = upgrade === null ? plainRequest : (handshakeFault(request) ?? unservedIn(query));
  if (wrong !== null) return refuse(client, wrong, call.admitted.headers);
  if (model === null || model === '') return refuse(client, noModel, call.admitted.headers);
  // SDKs in browsers ask for the older events by a subprotocol.
  const isBeta = protocolsOf(request.headers).includes('openai-beta.realtime-v1');
  const callerHeaders = isBeta ? { ...call.callerHeaders, 'openai-beta': 'realtime=v1' } : call.callerHeaders;
  const nowMs = () => services.clock.wallMs();
  await openSession(
    services,
    {
      call: { ...call, callerHeaders },
      accept: (headers, messageBytesMax) => acceptWebSocket(exchange, { headers, messageBytesMax }),
      draining: upgrade!.draining,
      errorEvent: (failure) =>
        errorEvent(failure, errorContextOf(exchange, nowMs()), newRequestId(nowMs()).replace('req', 'event')),
      refused: (failure, requestId) => {
        const refusal = refusalOf({ ...exchange, requestId }, failure, factsOf(failure, nowMs()), nowMs());
        exchange.onRefused(refusal);
      },
    },
    model,
  );
}

const plainRequest: Failure = {
  kind: 'upgrade-required',
  to: 'websocket',
  message: 'This address takes WebSockets. Open wss://…/v1/realtime?model=MODEL.',
};
const noModel = invalid('model', 'The address does not name a model. Open /v1/realtime?model=MODEL.');

/** What sessions of other kinds are asked for by. */
function unservedIn(query: URLSearchParams): Failure | null {
  if (query.has('call_id'))
    return invalid('call_id', 'A session that runs already cannot be joined here. Name a model.');
  if (query.has('intent')) {
    return invalid('intent', 'Sessions that only transcribe are not served here. Use /v1/audio/transcriptions.');
  }
  return null;
}

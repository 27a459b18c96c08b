import { gemini } from '../../../formats/dialects/gemini/index.ts';
import { openLive } from '../../../inference/families/realtime/open-live.ts';
import type { RealtimeServices } from '../../../inference/families/realtime/services.ts';
import { SocketEnd } from '../../../inference/families/realtime/socket-end.ts';
import { refuse } from '../../../inference/spine/sink.ts';
import type { Failure } from '../../../kernel/failure.ts';
import { acceptWebSocket, handshakeFault } from '../../accept-web-socket.ts';
import type { Exchange, Route } from '../../exchange.ts';
import { modelCallOf } from '../../model-call.ts';
import { sessionCallOf } from '../../realtime-call.ts';
import { keyRoute } from '../key-route.ts';

const versions = ['v1', 'v1beta', 'v1alpha'] as const;

/** Gemini's Live API (`client.live.connect`), over any provider that holds realtime sessions. */
export function liveRoutes(services: RealtimeServices): Route[] {
  return versions.map((version) =>
    keyRoute(`GET /ws/google.ai.generativelanguage.${version}.GenerativeService.BidiGenerateContent`, 'one', {
      endpoint: 'realtime',
      dialect: gemini,
      webSocket: true,
      summary: "Talk to a model over a WebSocket in the format of Gemini's Live API",
      handle: (exchange) => answer(services, exchange),
    }),
  );
}

async function answer(services: RealtimeServices, exchange: Exchange): Promise<void> {
  const call = modelCallOf(exchange);
  if (call === null) return;
  const { client, upgrade, request } = exchange;
  const wrong = upgrade === null ? plainRequest : handshakeFault(request);
  if (wrong !== null) return refuse(client, wrong, call.admitted.headers);
  await openLive(services, {
    ...sessionCallOf(services, exchange, call),
    async accept(headers, messageBytesMax) {
      const socket = await acceptWebSocket(exchange, { headers, messageBytesMax });
      return socket === null ? null : new SocketEnd(socket);
    },
  });
}

const plainRequest: Failure = {
  kind: 'upgrade-required',
  to: 'websocket',
  message: 'This address takes WebSockets. Open it with wss://, as client.live.connect does.',
};

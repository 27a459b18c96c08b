import { openAiChat } from '../../inference/dialects/openai-chat/index.ts';
import { identityHeaders } from '../delivery.ts';
import type { Route } from '../exchange.ts';

/** `GET /metrics` for the admin key, in Prometheus' text format. */
export function metricsRoute(render: () => Promise<{ contentType: string; text: string }>): Route {
  return {
    method: 'GET',
    path: '/metrics',
    auth: 'admin',
    quota: 'none',
    dialect: openAiChat,
    async handle(exchange) {
      const { contentType, text } = await render();
      exchange.response.writeHead(200, [...identityHeaders(exchange), 'content-type', contentType]);
      exchange.response.end(text);
    },
  };
}

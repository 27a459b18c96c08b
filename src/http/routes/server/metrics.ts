import { openAiChat } from '../../../formats/dialects/openai-chat/index.ts';
import { refuse } from '../../../inference/spine/sink.ts';
import { forbidden } from '../../../kernel/failure.ts';
import { identityHeaders } from '../../delivery.ts';
import { operatorOf, type Route } from '../../exchange.ts';

const ofSomeAccounts = forbidden('Metrics cover all accounts, so only operators of all accounts may read them.');

/** `GET /metrics` for the admin key, in Prometheus' text format. */
export function metricsRoute(render: () => Promise<{ contentType: string; text: string }>): Route {
  return {
    method: 'GET',
    path: '/metrics',
    summary: 'Metrics for Prometheus',
    auth: 'admin',
    quota: 'none',
    dialect: openAiChat,
    async handle(exchange) {
      // Its lines show all accounts.
      const { accounts } = operatorOf(exchange);
      if (accounts !== null) return refuse(exchange.client, ofSomeAccounts, []);
      const { contentType, text } = await render();
      exchange.response.writeHead(200, [...identityHeaders(exchange), 'content-type', contentType]);
      exchange.response.end(text);
    },
  };
}

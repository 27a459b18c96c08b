import { forwardedEndpoints } from '../../inference/dialects/forwarded/index.ts';
import { openAiChat } from '../../inference/dialects/openai-chat/index.ts';
import { runForwarded } from '../../inference/pipeline/forward.ts';
import type { Services } from '../../inference/pipeline/services.ts';
import type { Route } from '../exchange.ts';
import { receiveModelCall } from '../receive-model-call.ts';

/** `POST /v1/completions`, `/v1/moderations`, `/v1/rerank`: one format each, whatever provider serves them. */
export function forwardedRoutes(services: Services): Route[] {
  return Object.values(forwardedEndpoints).map(({ id, path }) => ({
    method: 'POST',
    path,
    auth: 'key',
    quota: 'one',
    limitForm: 'openai',
    validator: id,
    dialect: openAiChat,
    async handle(exchange) {
      const call = await receiveModelCall(services, exchange);
      if (call !== null) await runForwarded(services, { ...call, endpoint: id });
    },
  }));
}

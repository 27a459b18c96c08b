import { openAiChat } from '../../inference/dialects/openai-chat/index.ts';
import { runImages } from '../../inference/pipeline/images.ts';
import type { Services } from '../../inference/pipeline/services.ts';
import type { Route } from '../exchange.ts';
import { linkBaseOf } from '../link-base.ts';
import { receiveModelCall } from '../receive-model-call.ts';

/** `POST /v1/images/generations`: OpenAI's format over any provider that makes pictures. */
export function imageRoutes(services: Services): Route[] {
  const shared = {
    method: 'POST',
    auth: 'key',
    quota: 'one',
    limitForm: 'openai',
    dialect: openAiChat,
  } as const;
  return [
    {
      ...shared,
      path: '/v1/images/generations',
      validator: 'images',
      async handle(exchange) {
        const call = await receiveModelCall(services, exchange);
        if (call === null) return;
        const linkBase = linkBaseOf(exchange.request, services.snapshot().config.server);
        await runImages(services, { ...call, endpoint: 'image', linkBase });
      },
    },
  ];
}

import { openAiChat } from '../../inference/dialects/openai-chat/index.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { imageEditsEndpoint, imagesEndpoint } from '../../inference/images/endpoint.ts';
import { editFilesMax } from '../../inference/images/image-edit.ts';
import { serve } from '../../inference/spine/serve.ts';
import type { Exchange, Route } from '../exchange.ts';
import { linkBaseOf } from '../link-base.ts';
import { receiveModelCall, receiveUpload } from '../receive-model-call.ts';

/** `POST /v1/images/generations` and `/v1/images/edits`: OpenAI's format over any provider that makes pictures. */
export function imageRoutes(services: Services): Route[] {
  const shared = {
    method: 'POST',
    auth: 'key',
    quota: 'one',
    limitForm: 'openai',
    dialect: openAiChat,
  } as const;
  const linkBase = ({ request }: Exchange) => linkBaseOf(request, services.snapshot().config.server);
  const images = imagesEndpoint(services);
  const edits = imageEditsEndpoint(services);
  return [
    {
      ...shared,
      path: '/v1/images/generations',
      endpoint: 'image',
      async handle(exchange) {
        const received = await receiveModelCall(services, exchange);
        if (received === null) return;
        await serve(services, images, received.call, { body: received.body, linkBase: linkBase(exchange) });
      },
    },
    {
      ...shared,
      path: '/v1/images/edits',
      endpoint: 'image-edit',
      async handle(exchange) {
        await receiveUpload(services, exchange, editFilesMax, (call, form) =>
          serve(services, edits, call, { form, linkBase: linkBase(exchange) }),
        );
      },
    },
  ];
}

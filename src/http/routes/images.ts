import { openAiChat } from '../../inference/dialects/openai-chat/index.ts';
import { editFilesMax } from '../../inference/pipeline/image-edit.ts';
import type { Services } from '../../inference/pipeline/services.ts';
import type { Exchange, Route } from '../exchange.ts';
import { linkBaseOf } from '../link-base.ts';
import { receiveModelCall, receiveUpload } from '../receive-model-call.ts';

/**
 * `POST /v1/images/generations` and `/v1/images/edits`: OpenAI's format over any provider that makes pictures. What
 * serves them is loaded with the first call, so that no start waits for it.
 */
export function imageRoutes(services: Services): Route[] {
  const shared = {
    method: 'POST',
    auth: 'key',
    quota: 'one',
    limitForm: 'openai',
    dialect: openAiChat,
  } as const;
  const linkBase = ({ request }: Exchange) => linkBaseOf(request, services.snapshot().config.server);
  return [
    {
      ...shared,
      path: '/v1/images/generations',
      validator: 'images',
      async handle(exchange) {
        const call = await receiveModelCall(services, exchange);
        if (call === null) return;
        const { runImages } = await import('../../inference/pipeline/images.ts');
        await runImages(services, { ...call, endpoint: 'image', linkBase: linkBase(exchange) });
      },
    },
    {
      ...shared,
      path: '/v1/images/edits',
      validator: 'image-edits',
      async handle(exchange) {
        await receiveUpload(services, exchange, editFilesMax, async (head, form) => {
          const { runImageEdit } = await import('../../inference/pipeline/images.ts');
          await runImageEdit(services, { ...head, endpoint: 'image-edit', linkBase: linkBase(exchange) }, form);
        });
      },
    },
  ];
}

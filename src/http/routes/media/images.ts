import { openAiChat } from '../../../formats/dialects/openai-chat/index.ts';
import {
  imageEditBodySchema,
  imageEditSchema,
  imageSchema,
  imageVariationSchema,
} from '../../../formats/media/images/read-request.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import type { Route } from '../../exchange.ts';
import { imageHandlers } from './image-handlers.ts';

/** `POST /v1/images/generations`, `/v1/images/edits` and `/v1/images/variations`: OpenAI's format over any provider that makes pictures. */
export function imageRoutes(services: Services): Route[] {
  const shared = { method: 'POST', auth: 'key', quota: 'one', limitForm: 'openai', dialect: openAiChat } as const;
  const { draw, change, vary } = imageHandlers(services);
  return [
    {
      ...shared,
      path: '/v1/images/generations',
      summary: 'Draw pictures',
      endpoint: 'image',
      body: { schema: imageSchema },
      handle: draw,
    },
    {
      ...shared,
      path: '/v1/images/edits',
      summary: 'Change pictures',
      endpoint: 'image-edit',
      body: { form: 'multipart/form-data', schema: imageEditSchema, json: imageEditBodySchema },
      handle: change,
    },
    {
      ...shared,
      path: '/v1/images/variations',
      summary: 'Create a variation of a picture',
      endpoint: 'image-variation',
      body: { form: 'multipart/form-data', schema: imageVariationSchema },
      handle: vary,
    },
  ];
}

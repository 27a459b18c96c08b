import {
  imageEditBodySchema,
  imageEditSchema,
  imageSchema,
  imageVariationSchema,
} from '../../../formats/media/images/read-request.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import type { Route } from '../../exchange.ts';
import { keyRoute } from '../key-route.ts';
import { imageHandlers } from './image-handlers.ts';

/** `POST /v1/images/generations`, `/v1/images/edits` and `/v1/images/variations`: OpenAI's format over any provider that makes pictures. */
export function imageRoutes(services: Services): Route[] {
  const { draw, change, vary } = imageHandlers(services);
  return [
    keyRoute('POST /v1/images/generations', 'one', {
      limitForm: 'openai',
      summary: 'Draw pictures',
      endpoint: 'image',
      body: { schema: imageSchema },
      handle: draw,
    }),
    keyRoute('POST /v1/images/edits', 'one', {
      limitForm: 'openai',
      summary: 'Change pictures',
      endpoint: 'image-edit',
      body: { form: 'multipart/form-data', schema: imageEditSchema, json: imageEditBodySchema },
      handle: change,
    }),
    keyRoute('POST /v1/images/variations', 'one', {
      limitForm: 'openai',
      summary: 'Create a variation of a picture',
      endpoint: 'image-variation',
      body: { form: 'multipart/form-data', schema: imageVariationSchema },
      handle: vary,
    }),
  ];
}

import { openAiChat } from '../../../formats/dialects/openai-chat/index.ts';
import {
  imageEditBodySchema,
  imageEditSchema,
  imageSchema,
  imageVariationSchema,
} from '../../../formats/media/images/read-request.ts';
import type { Services } from '../../../inference/endpoints/services.ts';
import {
  imageEditsEndpoint,
  imagesEndpoint,
  imageVariationsEndpoint,
} from '../../../inference/families/images/endpoint.ts';
import { editFilesMax } from '../../../inference/families/images/image-edit.ts';
import type { Exchange, Route } from '../../exchange.ts';
import { linkBaseOf } from '../../link-base.ts';
import { bodyHandler, uploadHandler } from '../../model-call.ts';
import { readEditBody } from '../../read-edit-body.ts';

/** `POST /v1/images/generations`, `/v1/images/edits` and `/v1/images/variations`: OpenAI's format over any provider that makes pictures. */
export function imageRoutes(services: Services): Route[] {
  const shared = { method: 'POST', auth: 'key', quota: 'one', limitForm: 'openai', dialect: openAiChat } as const;
  const linkBase = ({ request }: Exchange) => linkBaseOf(request, services.snapshots.current.config.server);
  return [
    {
      ...shared,
      path: '/v1/images/generations',
      summary: 'Draw pictures',
      endpoint: 'image',
      body: { schema: imageSchema },
      handle: bodyHandler(services, imagesEndpoint(services), (exchange, body) => ({
        body,
        linkBase: linkBase(exchange),
      })),
    },
    {
      ...shared,
      path: '/v1/images/edits',
      summary: 'Change pictures',
      endpoint: 'image-edit',
      body: { form: 'multipart/form-data', schema: imageEditSchema, json: imageEditBodySchema },
      handle: uploadHandler(
        services,
        imageEditsEndpoint(services),
        editFilesMax,
        (exchange, form) => ({ form, linkBase: linkBase(exchange) }),
        (exchange, call) => readEditBody(services, exchange, call),
      ),
    },
    {
      ...shared,
      path: '/v1/images/variations',
      summary: 'Create a variation of a picture',
      endpoint: 'image-variation',
      body: { form: 'multipart/form-data', schema: imageVariationSchema },
      handle: uploadHandler(services, imageVariationsEndpoint(services), 1, (exchange, form) => ({
        form,
        linkBase: linkBase(exchange),
      })),
    },
  ];
}

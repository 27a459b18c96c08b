import type { Services } from '../../../inference/endpoints/services.ts';
import { imageEditsEndpoint, imagesEndpoint } from '../../../inference/families/images/endpoint.ts';
import { editFilesMax } from '../../../inference/families/images/image-edit.ts';
import type { Exchange } from '../../exchange.ts';
import { bodyHandler, uploadHandler } from '../../model-call.ts';
import { readEditBody } from '../../read-edit-body.ts';

/**
 * Handlers of bodies in OpenAI's format, for doors of other formats: of pictures that are drawn, and of those that are
 * changed. `linkBase` gives the beginning of links to pictures.
 */
export function imageHandlers(services: Services, linkBase: (exchange: Exchange) => string) {
  return {
    draw: bodyHandler(services, imagesEndpoint(services), (exchange, body) => ({ body, linkBase: linkBase(exchange) })),
    change: uploadHandler(
      services,
      imageEditsEndpoint(services),
      editFilesMax,
      (exchange, form) => ({ form, linkBase: linkBase(exchange) }),
      (exchange, call) => readEditBody(services, exchange, call),
    ),
  };
}

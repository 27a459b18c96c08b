import type { Services } from '../../../inference/endpoints/services.ts';
import {
  imageEditsEndpoint,
  imagesEndpoint,
  imageVariationsEndpoint,
} from '../../../inference/families/images/endpoint.ts';
import { editFilesMax } from '../../../inference/families/images/image-edit.ts';
import type { Exchange } from '../../exchange.ts';
import { linkBaseOf } from '../../link-base.ts';
import { bodyHandler, uploadHandler } from '../../model-call.ts';
import { readEditBody } from '../../read-edit-body.ts';
import type { Multipart } from '../../read-multipart.ts';

/** Handlers of bodies in OpenAI's format: of pictures that are drawn, that are changed, and of which others are made. */
export function imageHandlers(services: Services) {
  const linkBase = ({ request }: Exchange) => linkBaseOf(request, services.snapshots.current.config.server);
  const ofForm = (exchange: Exchange, form: Multipart) => ({ form, linkBase: linkBase(exchange) });
  return {
    draw: bodyHandler(services, imagesEndpoint(services), (exchange, body) => ({ body, linkBase: linkBase(exchange) })),
    change: uploadHandler(services, imageEditsEndpoint(services), editFilesMax, ofForm, (exchange, call) =>
      readEditBody(services, exchange, call),
    ),
    vary: uploadHandler(services, imageVariationsEndpoint(services), 1, ofForm),
  };
}

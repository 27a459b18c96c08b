import { forwardedEndpoints } from '../../formats/dialects/forwarded/index.ts';
import type { Services } from '../../inference/endpoints/services.ts';
import { forwardedEndpoint } from '../../inference/families/forwarded/endpoint.ts';
import type { Route } from '../exchange.ts';
import { asReceived, bodyHandler } from '../model-call.ts';
import { keyRoute } from './key-route.ts';

/** `POST /v1/completions`, `/v1/fim/completions`, `/v1/moderations`, `/v1/ocr`, `/v1/rerank`: one format each, whatever provider serves them. */
export function forwardedRoutes(services: Services): Route[] {
  return Object.values(forwardedEndpoints).map(({ id, path, summary, requestSchema }) => {
    const endpoint = forwardedEndpoint(services, id);
    return keyRoute(`POST ${path}`, 'one', {
      summary,
      limitForm: 'openai',
      endpoint: id,
      body: { schema: requestSchema },
      handle: bodyHandler(services, endpoint, asReceived),
    });
  });
}

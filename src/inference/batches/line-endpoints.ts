import { chatEndpoint } from '../chat/endpoint.ts';
import { forwardedEndpoints } from '../dialects/forwarded/index.ts';
import { embeddingsEndpoint } from '../embeddings/endpoint.ts';
import type { Services } from '../endpoints/services.ts';
import { forwardedEndpoint } from '../forwarded/endpoint.ts';
import { responsesEndpoint } from '../responses/endpoint.ts';
import type { Endpoint, Plan } from '../spine/endpoint.ts';
import type { ModelCall } from '../spine/model-call.ts';
import type { RequestBody } from '../spine/request-body.ts';
import { serve } from '../spine/serve.ts';

/** Runs a request of one endpoint to its end. */
export type RunLine = (services: Services, call: ModelCall, body: Buffer) => Promise<void>;

/** Stands around the endpoint of a line. */
export type Around = <R extends RequestBody, P extends Plan>(
  endpoint: Endpoint<Buffer, R, P>,
) => Endpoint<Buffer, R, P>;

/** Endpoints that a line may be for, by path. */
export function lineEndpoints(
  services: Services,
  around: Around = (endpoint) => endpoint,
): ReadonlyMap<string, RunLine> {
  const over =
    <R extends RequestBody, P extends Plan>(endpoint: Endpoint<Buffer, R, P>): RunLine =>
    (given, call, body) =>
      serve(given, around(endpoint), call, body);
  return new Map([
    ['/v1/chat/completions', over(chatEndpoint(services, 'chat', 'openai-chat'))],
    ['/v1/responses', over(responsesEndpoint(services))],
    ['/v1/embeddings', over(embeddingsEndpoint(services, 'embeddings'))],
    ['/v1/messages', over(chatEndpoint(services, 'messages', 'anthropic-messages'))],
    ...Object.values(forwardedEndpoints).map(({ id, path }) => [path, over(forwardedEndpoint(services, id))] as const),
  ]);
}

import { forwardedEndpoints } from '../../formats/dialects/forwarded/index.ts';
import type { Services } from '../endpoints/services.ts';
import { chatEndpoint } from '../families/chat/endpoint.ts';
import { embeddingsEndpoint } from '../families/embeddings/endpoint.ts';
import { forwardedEndpoint } from '../families/forwarded/endpoint.ts';
import { responsesEndpoint } from '../families/responses/endpoint.ts';
import type { Outcome } from '../spine/buffered-answer.ts';
import { type CallBounds, type CallOwner, call } from '../spine/call.ts';
import type { Endpoint, Plan } from '../spine/endpoint.ts';
import type { RequestBody } from '../spine/request-body.ts';

/** Runs a request of one endpoint to its end. */
export type RunLine = (
  services: Services,
  owner: CallOwner,
  body: Buffer,
  bounds: CallBounds,
) => Promise<Outcome | null>;

/** Wraps the endpoint of a line. */
export type Around = <R extends RequestBody, P extends Plan>(
  endpoint: Endpoint<Buffer, R, P>,
) => Endpoint<Buffer, R, P>;

/** Endpoints of batches in Gemini's format, which no batch of another format may name. */
export const geminiLinesPath = '/v1beta/models';
export const geminiEmbeddingsPath = '/v1beta/models:embedContent';
export const geminiPaths: readonly string[] = [geminiLinesPath, geminiEmbeddingsPath];

/** Endpoints that a line may be for, by path. */
export function lineEndpoints(
  services: Services,
  around: Around = (endpoint) => endpoint,
): ReadonlyMap<string, RunLine> {
  const over =
    <R extends RequestBody, P extends Plan>(endpoint: Endpoint<Buffer, R, P>): RunLine =>
    (given, owner, body, bounds) =>
      call(given, around(endpoint), owner, body, bounds);
  return new Map([
    ['/v1/chat/completions', over(chatEndpoint(services, 'chat', 'openai-chat'))],
    ['/v1/responses', over(responsesEndpoint(services))],
    ['/v1/embeddings', over(embeddingsEndpoint(services, 'embeddings'))],
    ['/v1/messages', over(chatEndpoint(services, 'messages', 'anthropic-messages'))],
    [geminiLinesPath, over(chatEndpoint(services, 'chat', 'gemini'))],
    [geminiEmbeddingsPath, over(embeddingsEndpoint(services, 'gemini-embeddings'))],
    ...Object.values(forwardedEndpoints).map(({ id, path }) => [path, over(forwardedEndpoint(services, id))] as const),
  ]);
}

import type { IncomingMessage } from 'node:http';
import type { Services } from '../../inference/endpoints/services.ts';
import { type PassedRequest, passedEndpoint, wayOf } from '../../inference/families/passthrough/pass-through.ts';
import { serve } from '../../inference/spine/serve.ts';
import { refuse } from '../../inference/spine/sink.ts';
import { type Failure, isFailure } from '../../kernel/failure.ts';
import type { UpstreamUpload } from '../../upstream/transport/upstream-call.ts';
import type { Exchange, Route } from '../exchange.ts';
import { plainCallOf } from '../model-call.ts';
import { hasBody, readBody, wrongEncoding } from '../read-body.ts';
import { keyRoute } from './key-route.ts';
import { providerObjectRoutes } from './provider-objects.ts';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** Longer bodies are sent on as they come. Shorter ones can be sent again on another connection. */
const streamedBytesMin = 1024 * 1024;

/**
 * `/passthrough/{provider}/…`: any path of a provider that is open to it, with its credential. And those paths of a provider
 * at which callers see no more than their objects.
 */
export function passthroughRoutes(services: Services): Route[] {
  const passed = methods.map(
    (method): Route =>
      keyRoute(`${method} /passthrough/:provider/*`, 'one', {
        endpoint: 'passthrough',
        summary: 'Ask a provider what no format covers, with its credential: any path below its base URL',
        handle: (exchange) => answer(services, method, exchange),
      }),
  );
  return [...passed, ...providerObjectRoutes(services)];
}

async function answer(services: Services, method: PassedRequest['method'], exchange: Exchange): Promise<void> {
  const { request, path, search, params } = exchange;
  const call = plainCallOf(exchange);
  const refused = (failure: Failure) => refuse(call.sink, failure, call.admitted.headers);
  // As it was written: the router decodes.
  const below = `/${path.split('/').slice(3).join('/')}`;
  const way = wayOf(services, call.principal, { method, provider: params.provider ?? '', path: below, search });
  if (way.kind !== 'way') return refused(way);
  const body = await bodyOf(services, exchange);
  if (body === null) return;
  if (body !== 'none' && isFailure(body)) return refused(body);
  await serve(services, passedEndpoint(services), call, { way, body: body === 'none' ? null : body });
  // A provider may answer before it has read all: what is left would hold up the next request on the connection. Its
  // reader may have stopped in the middle, and that listener would keep the rest from flowing.
  if (!request.complete) request.removeAllListeners('readable').resume();
}

/** Null: the caller left while sending. */
async function bodyOf(
  services: Services,
  exchange: Exchange,
): Promise<Buffer | UpstreamUpload | 'none' | Failure | null> {
  const { request, response, givenBody } = exchange;
  if (givenBody !== null) return givenBody;
  const { 'content-length': length, 'content-encoding': encoding, expect } = request.headers;
  if (!hasBody(request)) return 'none';
  const { body_limit, upload_limit } = services.snapshots.current.config.server;
  const bytes = Number(length);
  const wrong = wrongEncoding(encoding);
  if (wrong !== null) return wrong;
  // Who does not say how long it is has it read first, since it is sent with its length.
  if (length === undefined || bytes < streamedBytesMin) return readBody(exchange, body_limit);
  if (bytes > upload_limit) return { kind: 'body-too-large', limitBytes: upload_limit };
  if (expect !== undefined) response.writeContinue();
  // What of it the provider does not read is dropped, so that the caller gets the answer.
  exchange.dropsBody = true;
  return streamed(request, bytes);
}

/** Read once, while it is sent. It ends with the request, not with who reads: the caller still gets the answer. */
function streamed(request: IncomingMessage, bytes: number): UpstreamUpload {
  let begun = false;
  return {
    bytes,
    // Lazy, since undici takes a throw at its beginning for its own fault.
    async *open() {
      if (begun) throw new Error('the body has been sent in part and cannot be sent again');
      begun = true;
      yield* request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    },
  };
}

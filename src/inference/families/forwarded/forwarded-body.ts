import type { ForwardedEndpointId, ForwardedRequest } from '../../../formats/dialects/forwarded/endpoint.ts';
import { forwardedEndpoints } from '../../../formats/dialects/forwarded/index.ts';
import { type Failure, isFailure } from '../../../kernel/failure.ts';
import { parseBody } from '../../../kernel/parse-object.ts';
import { type EncodedBody, encodeForwarded, type ForwardOrder } from '../../spine/encode-forwarded.ts';
import type { RequestBody, RequestFacts } from '../../spine/request-body.ts';

export type ForwardedFacts = RequestFacts &
  Pick<ForwardedRequest, 'includeUsage' | 'conversationStart' | 'answerShape'>;

/** A checked body of an endpoint of one format. */
export interface ForwardedBody extends RequestBody<ForwardedFacts> {
  encode(order: ForwardOrder): EncodedBody | Failure | Promise<EncodedBody | Failure>;
}

/** Parses and checks; the failure is a 400 in every case. */
export function readForwarded(raw: Buffer, endpoint: ForwardedEndpointId): ForwardedBody | Failure {
  const parsed = parseBody(raw);
  if (isFailure(parsed)) return parsed;
  const request = forwardedEndpoints[endpoint].readRequest(raw, parsed.body, parsed.scan);
  if (isFailure(request)) return request;
  const { model, stream, user, needs, includeUsage, conversationStart, answerShape } = request;
  const facts = {
    model,
    stream,
    user,
    needs,
    includeUsage,
    conversationStart,
    ...(answerShape !== undefined && { answerShape }),
  };
  return { facts, encode: (order) => encodeForwarded(request, { ...order, endpoint }), release() {} };
}

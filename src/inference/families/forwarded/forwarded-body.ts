import type { Result } from '../../../formats/dialects/dialect.ts';
import type { ForwardedEndpointId, ForwardedRequest } from '../../../formats/dialects/forwarded/endpoint.ts';
import { forwardedEndpoints } from '../../../formats/dialects/forwarded/index.ts';
import { parseBody } from '../../../kernel/parse-object.ts';
import { type EncodedBody, encodeForwarded, type ForwardOrder } from '../../spine/encode-forwarded.ts';
import type { RequestBody, RequestFacts } from '../../spine/request-body.ts';

export type ForwardedFacts = RequestFacts &
  Pick<ForwardedRequest, 'includeUsage' | 'conversationStart' | 'answerShape'>;

/** A checked body of an endpoint of one format. */
export interface ForwardedBody extends RequestBody<ForwardedFacts> {
  encode(order: ForwardOrder): Result<EncodedBody> | Promise<Result<EncodedBody>>;
}

/** Parses and checks; the failure is a 400 in every case. */
export function readForwarded(raw: Buffer, endpoint: ForwardedEndpointId): Result<ForwardedBody> {
  const parsed = parseBody(raw);
  if (!parsed.ok) return parsed;
  const read = forwardedEndpoints[endpoint].readRequest(raw, parsed.value.body, parsed.value.scan);
  if (!read.ok) return read;
  const request = read.value;
  const { model, stream, user, needs, includeUsage, conversationStart, answerShape } = request;
  const facts = {
    ...{ model, stream, user, needs, includeUsage, conversationStart },
    ...(answerShape !== undefined && { answerShape }),
  };
  return {
    ok: true,
    value: { facts, encode: (order) => encodeForwarded(request, { ...order, endpoint }), release() {} },
  };
}

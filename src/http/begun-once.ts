import type { Services } from '../inference/endpoints/services.ts';
import { readIdempotencyKey } from '../inference/spine/idempotency.ts';
import { refuse, sendWhole } from '../inference/spine/sink.ts';
import { type Failure, failureIn, isFailure } from '../kernel/failure.ts';
import type { JsonObject } from '../kernel/json.ts';
import type { Exchange } from './exchange.ts';

/** A request that begins something. `body`: its bytes, or a digest of them. */
interface BeginningRequest {
  exchange: Exchange;
  endpoint: string;
  tenant: string;
  body: Buffer;
}

/** Begins a batch or a crawl, once for each `Idempotency-Key`: one that ran twice would cost twice. Null: it is answered. */
export async function begunOnce(
  { idempotency }: Pick<Services, 'idempotency'>,
  { exchange, ...request }: BeginningRequest,
  begin: () => Promise<JsonObject | Failure>,
): Promise<JsonObject | Failure | null> {
  const { client: sink, requestId, admitted } = exchange;
  const { headers: given } = exchange.request;
  // The spelling of Firecrawl's SDKs.
  const key = readIdempotencyKey({ 'idempotency-key': given['x-idempotency-key'], ...given });
  if (key === null) return begin();
  if (isFailure(key)) return key;
  const headers = admitted?.headers ?? [];
  await idempotency.once({ ...request, key, requestId, sink, headers }, async (answer) => {
    const begun = await begin().catch(failureIn);
    if (isFailure(begun)) refuse(answer, begun, headers);
    else sendWhole(answer, headers, JSON.stringify(begun));
  });
  return null;
}

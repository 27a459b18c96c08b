import type { Services } from '../../../inference/endpoints/services.ts';
import { readIdempotencyKey } from '../../../inference/spine/idempotency.ts';
import { refuse, sendWhole } from '../../../inference/spine/sink.ts';
import { type Failure, failureIn, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { Exchange } from '../../exchange.ts';

/** A request that begins something. `body`: its bytes, or a digest of them. */
interface BeginningRequest {
  exchange: Exchange;
  endpoint: string;
  tenant: string;
  body: Buffer;
}

/** Begins a batch, once for each `Idempotency-Key`: a batch that ran twice would cost twice. Null: it is answered. */
export async function begunOnce(
  { idempotency }: Pick<Services, 'idempotency'>,
  { exchange, ...request }: BeginningRequest,
  begin: () => Promise<JsonObject | Failure>,
): Promise<JsonObject | Failure | null> {
  const { client: sink, requestId, admitted } = exchange;
  const key = readIdempotencyKey(exchange.request.headers);
  if (key === null) return begin();
  if (isFailure(key)) return key;
  const headers = admitted?.headers ?? [];
  await idempotency.once({ ...request, key, requestId, sink, headers }, async (answer) => {
    const batch = await begin().catch(failureIn);
    if (isFailure(batch)) refuse(answer, batch, headers);
    else sendWhole(answer, headers, JSON.stringify(batch));
  });
  return null;
}

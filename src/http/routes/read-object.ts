import type { Services } from '../../inference/endpoints/services.ts';
import { isFailure } from '../../kernel/failure.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { callerOf, type Exchange } from '../exchange.ts';
import { readJsonBody } from '../read-body.ts';
import { refuseCall } from '../write-json.ts';

/** A body that is an object; null: it was refused, or its caller left. */
export async function readObject(
  { snapshots, bodies }: Pick<Services, 'snapshots' | 'bodies'>,
  exchange: Exchange,
): Promise<JsonObject | null> {
  const raw = await readJsonBody(exchange, snapshots.current.config.server.body_limit);
  if (raw === null) return null;
  const read = Buffer.isBuffer(raw) ? await bodies.readObject(callerOf(exchange).tenant, raw) : raw;
  return isFailure(read) ? refuseCall(exchange, read) : read.body;
}

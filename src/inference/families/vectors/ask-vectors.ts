import type { Failure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { VectorVerb } from '../../../vectors/verbs.ts';
import type { ServeServices } from '../../spine/answer-cache.ts';
import { type CallOwner, call } from '../../spine/call.ts';
import { abandoned, costMilliIn } from '../../spine/work.ts';
import type { VectorEndpoint } from './endpoint.ts';

/** A call of the vector API that this gateway makes for a key's owner, at the same cost. */
export interface VectorQuestion {
  owner: CallOwner;
  verb: VectorVerb;
  /** Path parameters. */
  params: Readonly<Record<string, string>>;
  body: JsonObject | null;
  /** Name of its trace. */
  route: string;
}

/** The answer's `result` with what it cost, or why there is none. */
export async function askVectors(
  services: ServeServices,
  endpoint: VectorEndpoint,
  { owner, verb, params, body, route }: VectorQuestion,
): Promise<{ result: unknown; costMilli: number } | Failure> {
  const bytes = body === null ? new Uint8Array(0) : new TextEncoder().encode(JSON.stringify(body));
  const order = { verb, params, search: '', body: bytes };
  const outcome = await call(services, endpoint, owner, order, { traced: { route } });
  if (outcome?.kind !== 'answered') return outcome?.failure ?? abandoned;
  const { result } = JSON.parse(outcome.body.toString()) as { result: unknown };
  return { result, costMilli: costMilliIn(outcome.headers) };
}

import { type Failure, FailureError, invalid, isFailure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import type { ModelCall } from '../../spine/model-call.ts';
import type { ResponsesEndpoint } from './endpoint.ts';
import { conversationNotFound, expanded, previousNotFound } from './expand.ts';
import { keepsFor, notStored } from './keeps-for.ts';
import type { ResponsesServices } from './services.ts';

/** A request that runs without its caller: as a stream, of which nothing is kept, with all that it continues. */
export interface StatelessRequest {
  previous: string | null;
  conversation: string | null;
  stateless: Buffer;
}

/** Throws a FailureError for what cannot be asked so. */
export async function statelessRequest(
  services: ResponsesServices,
  endpoint: ResponsesEndpoint,
  call: ModelCall,
  body: JsonObject,
): Promise<StatelessRequest> {
  const { principal } = call;
  const why = keepsFor(services.snapshots.current, principal)
    ? await services.storage.mayKeep(principal.account)
    : notStored;
  if (why !== null) throw new FailureError(why);
  if (body.store === false) throw new FailureError(needsStore);
  const { background: _, ...rest } = body;
  const raw = Buffer.from(JSON.stringify({ ...rest, stream: true, store: false }));
  // Its check names what is wrong before anything is looked up.
  const read = await endpoint.read(call, raw);
  if (isFailure(read)) throw new FailureError(read);
  await read.release();
  const { previous = null, conversation = null } = read.turn ?? {};
  if (previous === null && conversation === null) return { previous, conversation, stateless: raw };
  const { body_limit: bytesMax } = services.snapshots.current.config.server;
  const whole = await expanded(services.responses, principal.tenant, raw, { previous, conversation }, bytesMax);
  if (whole === null) throw new FailureError(notHere(previous, conversation));
  if (isFailure(whole)) throw new FailureError(whole);
  return { previous, conversation, stateless: whole };
}

const needsStore = invalid('store', "A response in the background is kept: leave 'store' out, or send true.");

/** Failure of a request that continues what a provider keeps: it cannot be continued here either. */
function notHere(previous: string | null, conversation: string | null): Failure {
  return previous === null ? conversationNotFound(conversation!, 'conversation') : previousNotFound();
}

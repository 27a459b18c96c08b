import type { ClientSecrets } from '../books/auth/client-secrets.ts';
import { errorEvent } from '../formats/media/realtime/events.ts';
import type { SessionCall } from '../inference/families/realtime/held-session.ts';
import type { RealtimeServices } from '../inference/families/realtime/services.ts';
import type { ModelCall } from '../inference/spine/model-call.ts';
import { type Failure, invalid, isFailure } from '../kernel/failure.ts';
import { factsOf } from '../kernel/failure-facts.ts';
import { newRequestId } from '../kernel/ids.ts';
import type { JsonObject } from '../kernel/json.ts';
import { type Exchange, errorContextOf } from './exchange.ts';
import { refusalOf } from './refused-request.ts';

/** A model and the settings of its session. */
export interface RequestedSession {
  model: string;
  settings: JsonObject | null;
}

/**
 * The session that address and body request, with what the client secret opens; a 400 where they contradict each other.
 */
export function requestedSession(
  secrets: ClientSecrets,
  headers: Parameters<ClientSecrets['open']>[0],
  named: string | null,
  settings: JsonObject | null,
): RequestedSession | Failure {
  const secret = secrets.open(headers);
  if (isFailure(secret)) return secret;
  if (secret === null) return named === null || named === '' ? noModel : { model: named, settings };
  if (named !== null && named !== secret.model) {
    return invalid(
      'model',
      `The client secret is for the model '${secret.model}'. Leave the model out, or name that one.`,
    );
  }
  return { model: secret.model, settings: { ...secret.session, ...settings } };
}

export function sessionCallOf(
  { clock }: RealtimeServices,
  exchange: Exchange,
  call: ModelCall,
): Omit<SessionCall, keyof RequestedSession> {
  const nowMs = () => clock.wallMs();
  return {
    call,
    ending: exchange.ending,
    errorEvent(failure) {
      const id = newRequestId(nowMs()).replace('req', 'event');
      return errorEvent(failure, errorContextOf(exchange, nowMs()), id);
    },
    refused(failure, requestId) {
      exchange.onRefused(refusalOf({ ...exchange, requestId }, failure, factsOf(failure, nowMs()), nowMs()));
    },
  };
}

export const noModel = invalid('model', 'The request does not name a model. Add ?model=MODEL to the address.');

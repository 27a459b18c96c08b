import type { Config } from '../../config/schema.ts';
import { refuse } from '../../inference/spine/sink.ts';
import { type Failure, isFailure } from '../../kernel/failure.ts';
import type { Exchange } from '../exchange.ts';
import type { LoginAttempt, LoginThrottle } from './login-throttle.ts';
import { crossSiteFailure } from './same-site.ts';

/** Headers of every answer to a login. */
export const noStore = ['cache-control', 'no-store'];

export interface LoginReading<T extends object> {
  throttle: LoginThrottle;
  server(): Config['server'];
  /** Reads the body; null: the caller left while sending. */
  read(exchange: Exchange): Promise<T | Failure | null>;
}

/**
 * Reads a login as a page sends it, and counts the attempt as failed until it is known to pass. Null: it was refused as
 * of another site, malformed or one of too many, or its caller has left.
 */
export async function readLogin<T extends object>(
  exchange: Exchange,
  address: string | null,
  { throttle, server, read }: LoginReading<T>,
): Promise<{ given: T; attempt: LoginAttempt } | null> {
  const deny = (failure: Failure) => {
    refuse(exchange.client, failure, noStore);
    return null;
  };
  const early = crossSiteFailure(exchange, server()) ?? (await throttle.refusal(address));
  if (early !== null) return deny(early);
  const given = await read(exchange);
  if (given === null) return null;
  if (isFailure(given)) return deny(given);
  const attempt = await throttle.attempt(address);
  return isFailure(attempt) ? deny(attempt) : { given, attempt };
}

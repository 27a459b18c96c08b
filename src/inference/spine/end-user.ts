import type { Principal } from '../../books/auth/principal.ts';
import { cleanUser } from '../../formats/neutral/value-checks.ts';
import { headerText } from '../../kernel/web/header-text.ts';
import type { ModelCall } from './model-call.ts';

/** The end user: of the token, else of `x-culvert-user`, for clients that write none into bodies, else `named`, of the body. */
export function endUserOf(
  { principal, callerHeaders: { 'x-culvert-user': header } }: Pick<ModelCall, 'principal' | 'callerHeaders'>,
  named: string | null | undefined,
): string | null {
  if (principal.user !== undefined) return principal.user;
  const user = typeof header === 'string' ? cleanUser(headerText(header).trim()) : null;
  return user?.slice(0, 256).toWellFormed() ?? named ?? null;
}

/** The same caller, for calls that Culvert makes for this end user; null or absent: nobody was named. */
export function forUser(principal: Principal, user: string | null | undefined): Principal {
  return user == null ? principal : { ...principal, user };
}

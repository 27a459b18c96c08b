import { cleanUser } from '../../formats/neutral/value-checks.ts';
import { headerText } from '../../kernel/web/header-text.ts';
import type { ModelCall } from './model-call.ts';

/** The bodies of most formats may have as many. */
const userCharsMax = 256;

/**
 * The end user of a request: its token's, else that of `x-culvert-user`, which applications send that cannot write one into
 * bodies, else `named`, that of its body.
 */
export function endUserOf(
  { principal, callerHeaders }: Pick<ModelCall, 'principal' | 'callerHeaders'>,
  named: string | null | undefined,
): string | null {
  if (principal.user !== undefined) return principal.user;
  const { 'x-culvert-user': header } = callerHeaders;
  const user = typeof header === 'string' ? cleanUser(headerText(header).trim()) : null;
  return user === null ? (named ?? null) : user.slice(0, userCharsMax).toWellFormed();
}

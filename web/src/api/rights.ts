// A file of the server that runs here too: its table of roles, which imports nothing.
import { type Access, type Area, notAllowed } from '../../../src/admin/roles.ts';
import { type Session, useSession } from './session.ts';

export type { Area } from '../../../src/admin/roles.ts';

/** Why the logged-in person may not, in the server's words; null when they may. The server decides: this only hides. */
export function whyNot(session: Session, area: Area, access: Exclude<Access, 'none'>): string | null {
  if (session.kind === 'key') return 'An API key cannot administer the server.';
  const failure = notAllowed(session, area, access);
  return failure === null ? null : 'message' in failure ? String(failure.message) : 'Your role may not do that.';
}

/** Whether the logged-in person is an operator of all accounts: only they make accounts and close months. */
export function useMayAllAccounts(): boolean {
  const session = useSession();
  return session.kind === 'operator' && session.accounts === null;
}

export function useMay(area: Area, access: Exclude<Access, 'none'>): boolean {
  return whyNot(useSession(), area, access) === null;
}

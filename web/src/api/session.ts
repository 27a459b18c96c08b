import { type QueryClient, queryOptions, useQueryClient } from '@tanstack/react-query';
import { createContext, useContext } from 'react';
import { call, setCsrf } from './request.ts';
import { serverPath } from './server-path.ts';

export type Role = 'owner' | 'admin' | 'member' | 'viewer' | 'billing';

interface SessionFacts {
  id: string;
  csrf: string;
  expires_at: string;
  version: string;
}
export interface OperatorSession extends SessionFacts {
  kind: 'operator';
  name: string;
  role: Role;
  /** Null: all of them. */
  accounts: string[] | null;
  login: 'token' | 'admin_key' | 'operator_key' | ProviderLogin;
}
export interface KeySession extends SessionFacts {
  kind: 'key';
  account: string;
  key: { id: string; name: string };
}
export type Session = OperatorSession | KeySession;

/** Logins at a provider. */
export const providerLogins = ['oidc', 'saml'] as const;
export type ProviderLogin = (typeof providerLogins)[number];
export const providerLoginNames: Readonly<Record<ProviderLogin, string>> = { oidc: 'OpenID Connect', saml: 'SAML' };

/** Providers at which one can log in. */
export type LoginWays = Readonly<Record<ProviderLogin, { name: string } | null>>;

export const noProviders: LoginWays = { oidc: null, saml: null };

/** The answer to a caller without a session. */
interface Nobody {
  kind: 'nobody';
  login: LoginWays;
}

/** Ways to log in. */
export type Credential = { token: string } | { admin_key: string } | { key: string };

export const sessionKey = ['session'] as const;

type Known = { session: Session } | { session: null; login: LoginWays };

export const sessionQuery = queryOptions({
  queryKey: sessionKey,
  staleTime: 60_000,
  async queryFn({ signal }): Promise<Known> {
    const reply = await call<Session | Nobody>('GET', '/dashboard/session', { signal });
    const isNobody = reply.kind === 'nobody';
    setCsrf(isNobody ? null : reply.csrf);
    return isNobody ? { session: null, login: reply.login } : { session: reply };
  },
});

const SessionContext = createContext<Session | null>(null);

/** Around pages of a logged-in person: the last session, also once it has ended. */
export const SessionProvider = SessionContext.Provider;

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('There is no session.');
  return session;
}

/** Session of an operator, for pages that only operators have. */
export function useOperator(): OperatorSession {
  const session = useSession();
  if (session.kind !== 'operator') throw new Error('The session is not an operator’s.');
  return session;
}

/** Opens a session; the pages know it at once. */
export async function logIn(client: QueryClient, credential: Credential): Promise<void> {
  const { session } = await call<{ session: Session }>('POST', '/dashboard/session', { body: credential });
  setCsrf(session.csrf);
  client.setQueryData<Known>(sessionKey, { session });
}

export function useLogOut(): () => Promise<void> {
  const client = useQueryClient();
  return async () => {
    // A provider of logins is logged out of too: it would log the next person in without asking.
    const ended = await call<{ end_session_url: string | null }>('DELETE', '/dashboard/session');
    client.clear();
    location.assign(ended.end_session_url ?? `${serverPath}/dashboard`);
  };
}

import type { InvitationParts } from '../../books/auth/invitations.ts';
import type { OidcConfig, ScimConfig } from '../../config/schema-dashboard.ts';
import { refuse } from '../../inference/spine/sink.ts';
import { type Failure, FailureError } from '../../kernel/failure.ts';
import type { Sealer } from '../../kernel/seal.ts';
import type { Exchange } from '../exchange.ts';
import type { InvitationSignIn } from './invitation-sign-in.ts';
import type { OidcSignIn } from './oidc-sign-in.ts';
import { createPages } from './pages.ts';
import { createSessionDoor, type SessionDoor } from './session-door.ts';
import { createSignIn, type SignIn, type SignInParts } from './sign-in.ts';

/** Routes that browsers use in addition to the APIs. */
export interface Dashboard {
  pages: ReturnType<typeof createPages>;
  signIn: SignIn;
  oidc: Pick<OidcSignIn, 'start' | 'callback'>;
  invitation: InvitationSignIn;
  scim(exchange: Exchange): Promise<void>;
  door: SessionDoor;
}

export interface DashboardParts extends Omit<SignInParts, 'oidc' | 'endSessionUrl' | 'onOperator'>, InvitationParts {
  pagesFolder: string | null;
  oidc(): OidcConfig | undefined;
  scim(): ScimConfig | null;
  /** Seals what a browser keeps while it is at the provider. Made at the first login. */
  sealer(): Sealer;
  /** When it resolves, the ring of this process knows the written key. */
  refresh(): Promise<unknown>;
  onTrouble(message: string): void;
}

export function createDashboard(parts: DashboardParts): Dashboard {
  const { oidc, store, clock } = parts;
  let loaded: OidcSignIn | null = null;
  let loading: Promise<OidcSignIn> | null = null;
  const signIn = createSignIn({
    ...parts,
    oidc() {
      const config = oidc();
      return config === undefined ? null : { name: config.name ?? new URL(config.issuer).host };
    },
    async onOperator({ name: actor }, { id, login }, address) {
      const entry = { atMs: clock.wallMs(), actor, action: 'session.open', subject: id, before: null };
      await store.apply([], { ...entry, after: { login, address } }).catch((error: unknown) => {
        parts.onTrouble(`the audit log lacks a login of ${actor}: ${String(error)}`);
      });
    },
    endSessionUrl: (exchange) => loaded?.endSessionUrl(exchange) ?? null,
  });
  // Its packages are loaded by the first who logs in so.
  const openId = (): Promise<OidcSignIn> => {
    loading ??= import('./oidc-sign-in.ts').then(({ createOidcSignIn }) => {
      loaded = createOidcSignIn({ ...parts, sealer: parts.sealer(), open: signIn.open });
      return loaded;
    });
    return loading;
  };
  let invitations: Promise<InvitationSignIn> | null = null;
  const invitation = (): Promise<InvitationSignIn> => {
    invitations ??= import('./invitation-sign-in.ts').then(({ createInvitationSignIn }) =>
      createInvitationSignIn({ ...parts, open: signIn.open }),
    );
    return invitations;
  };
  let directories: Promise<(exchange: Exchange) => Promise<void>> | null = null;
  const directory = (): Promise<(exchange: Exchange) => Promise<void>> => {
    directories ??= import('../scim/answer-scim.ts').then(({ createScimDoor }) => createScimDoor(parts));
    return directories;
  };
  const { operator, principal } = createSessionDoor(parts);
  return {
    pages: createPages(parts.pagesFolder),
    signIn: { ...signIn, start: answering(signIn.start), read: answering(signIn.read), end: answering(signIn.end) },
    oidc: {
      start: async (exchange) => (await openId()).start(exchange),
      callback: async (exchange) => (await openId()).callback(exchange),
    },
    invitation: {
      look: answering(async (exchange) => (await invitation()).look(exchange)),
      accept: answering(async (exchange) => (await invitation()).accept(exchange)),
    },
    scim: async (exchange) => (await directory())(exchange),
    door: { operator: passing(operator), principal: passing(principal) },
  };
}

/** Answers what a store says that cannot be asked now. */
function answering(handle: (exchange: Exchange) => Promise<void>): (exchange: Exchange) => Promise<void> {
  return async (exchange) => {
    try {
      await handle(exchange);
    } catch (error) {
      refuse(exchange.client, failureIn(error), ['cache-control', 'no-store']);
    }
  };
}

function passing<Found>(
  find: (exchange: Exchange) => Promise<Found>,
): (exchange: Exchange) => Promise<Found | Failure> {
  return (exchange) => find(exchange).catch(failureIn);
}

/** Throws for anything else. */
function failureIn(error: unknown): Failure {
  if (error instanceof FailureError) return error.failure;
  throw error;
}

import type { InvitationParts } from '../../books/auth/invitations.ts';
import type { GroupRoles } from '../../config/schema/schema-dashboard.ts';
import type { Config } from '../../config/schema.ts';
import { refuse } from '../../inference/spine/sink.ts';
import { type Failure, failureIn } from '../../kernel/failure.ts';
import { OpenedOnce } from '../../kernel/opened-once.ts';
import type { Sealer } from '../../kernel/seal.ts';
import type { Exchange } from '../exchange.ts';
import type { InvitationSignIn } from './invitation-sign-in.ts';
import type { OidcSignIn } from './oidc-sign-in.ts';
import { createPages } from './pages.ts';
import type { SamlSignIn } from './saml-sign-in.ts';
import { createSessionDoor, type SessionDoor } from './session-door.ts';
import { createSignIn, type SignIn, type SignInParts } from './sign-in.ts';

/** Routes that browsers use in addition to the APIs. */
export interface Dashboard {
  pages: ReturnType<typeof createPages>;
  signIn: SignIn;
  oidc: Pick<OidcSignIn, 'start' | 'callback'>;
  saml: SamlSignIn;
  invitation: InvitationSignIn;
  scim(exchange: Exchange): Promise<void>;
  door: SessionDoor;
}

export interface DashboardParts
  extends Omit<SignInParts, 'providers' | 'endSessionUrl' | 'onOperator'>,
    InvitationParts {
  pagesFolder: string | null;
  /** Providers and directory of operators, as configured now. */
  logins(): Pick<Config['dashboard'], 'oidc' | 'saml' | 'scim'>;
  /** Seals what a browser keeps while it is at the provider. Made at the first login. */
  sealer(): Sealer;
  /** When it resolves, the ring of this process knows the written key. */
  refresh(): Promise<unknown>;
  onTrouble(message: string): void;
}

export function createDashboard(given: DashboardParts): Dashboard {
  const { store, clock, logins } = given;
  const parts = { ...given, oidc: () => logins().oidc, saml: () => logins().saml, scim: () => logins().scim ?? null };
  const signIn = createSignIn({
    ...parts,
    providers() {
      const { oidc, saml } = logins();
      return {
        oidc: oidc === undefined ? null : { name: oidc.name ?? new URL(oidc.issuer).host },
        saml: saml === undefined ? null : { name: saml.name ?? 'SAML' },
      };
    },
    async onOperator({ name: actor }, { id, login }, address) {
      const entry = { atMs: clock.wallMs(), actor, action: 'session.open', subject: id, before: null };
      await store.apply([], { ...entry, after: { login, address } }).catch((error: unknown) => {
        parts.onTrouble(`the audit log lacks a login of ${actor}: ${String(error)}`);
      });
    },
    endSessionUrl: async (exchange) => (await openId.open()).endSessionUrl(exchange),
  });
  // Each with its packages is loaded by the first who needs it.
  const openId = new OpenedOnce(async () => {
    const { createOidcSignIn } = await import('./oidc-sign-in.ts');
    return createOidcSignIn({ ...parts, sealer: parts.sealer(), open: signIn.open });
  });
  const saml = new OpenedOnce(async () => {
    const { createSamlSignIn } = await import('./saml-sign-in.ts');
    return createSamlSignIn({ ...parts, sealer: parts.sealer(), open: signIn.open });
  });
  const invitation = new OpenedOnce(async () => {
    const { createInvitationSignIn } = await import('./invitation-sign-in.ts');
    return createInvitationSignIn({ ...parts, open: signIn.open });
  });
  const directory = new OpenedOnce(async () => (await import('../scim/answer-scim.ts')).createScimDoor(parts));
  const { operator, principal } = createSessionDoor(parts);
  const align = createAlignment(parts);
  return {
    pages: createPages(parts.pagesFolder),
    signIn: {
      ...signIn,
      start: answering(signIn.start),
      read: answering(async (exchange) => align().then(() => signIn.read(exchange))),
      end: answering(signIn.end),
    },
    oidc: {
      start: async (exchange) => (await openId.open()).start(exchange),
      callback: async (exchange) => (await openId.open()).callback(exchange),
    },
    saml: {
      start: async (exchange) => (await saml.open()).start(exchange),
      consume: async (exchange) => (await saml.open()).consume(exchange),
      metadata: async (exchange) => (await saml.open()).metadata(exchange),
    },
    invitation: {
      look: answering(async (exchange) => (await invitation.open()).look(exchange)),
      accept: answering(async (exchange) => (await invitation.open()).accept(exchange)),
    },
    scim: async (exchange) => (await directory.open())(exchange),
    door: {
      operator: passing(async (exchange) => align().then(() => operator(exchange))),
      principal: passing(principal),
    },
  };
}

/** Resolves when the operators of a directory have the rights of the present roles: these may have changed meanwhile. */
function createAlignment(parts: DashboardParts): () => Promise<void> {
  let roles: GroupRoles | null = null;
  let aligning = Promise.resolve();
  return () => {
    const now = parts.logins().scim?.roles ?? null;
    if (now === roles) return aligning;
    roles = now;
    if (now === null) return aligning;
    aligning = import('../../books/auth/scim/directory.ts').then(({ alignOperators }) => alignOperators(parts, now));
    // A call that waits for it fails with the reason; the next one tries again.
    aligning.catch(() => {
      roles = null;
      aligning = Promise.resolve();
    });
    return aligning;
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

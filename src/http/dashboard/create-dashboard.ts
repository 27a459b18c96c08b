import type { AccountStore } from '../../auth/account-store.ts';
import type { OidcConfig } from '../../config/schema-dashboard.ts';
import type { Sealer } from '../../kernel/seal.ts';
import type { OidcSignIn } from './oidc-sign-in.ts';
import { createPages } from './pages.ts';
import { createSessionDoor, type SessionDoor } from './session-door.ts';
import { createSignIn, type SignIn, type SignInParts } from './sign-in.ts';

/** What a browser talks to beside the APIs. */
export interface Dashboard {
  pages: ReturnType<typeof createPages>;
  signIn: SignIn;
  oidc: Pick<OidcSignIn, 'start' | 'callback'>;
  door: SessionDoor;
}

export interface DashboardParts extends Omit<SignInParts, 'oidc' | 'endSessionUrl'> {
  pagesFolder: string | null;
  oidc(): OidcConfig | undefined;
  /** For what a browser keeps while it is at the provider; made at the first login. */
  sealer(): Sealer;
  store: AccountStore;
  /** The ring of this process knows what was written once it resolves. */
  refresh(): Promise<unknown>;
  onTrouble(message: string): void;
}

export function createDashboard(parts: DashboardParts): Dashboard {
  const { oidc } = parts;
  let loaded: OidcSignIn | null = null;
  let loading: Promise<OidcSignIn> | null = null;
  const signIn = createSignIn({
    ...parts,
    oidc() {
      const config = oidc();
      return config === undefined ? null : { name: config.name ?? new URL(config.issuer).host };
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
  return {
    pages: createPages(parts.pagesFolder),
    signIn,
    oidc: {
      start: async (exchange) => (await openId()).start(exchange),
      callback: async (exchange) => (await openId()).callback(exchange),
    },
    door: createSessionDoor(parts),
  };
}

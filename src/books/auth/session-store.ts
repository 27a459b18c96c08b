/** The port behind which the dashboard's sessions are kept; of their secrets only hashes. Its store is in stores/accounts. */
export interface SessionStore {
  /** Written when it resolves. Of one `credential` or `operator` the newest `keepMax` stay; those that are over go. */
  open(session: SessionRow, keepMax: number): Promise<void>;
  /** By the hash of its secret; null when there is none. One that is over may still be there. */
  find(hash: string): Promise<SessionRow | null>;
  /** Newest first. */
  list(): Promise<readonly SessionRow[]>;
  seen(id: string, atMs: number): Promise<void>;
  /** False when there was none. */
  end(id: string): Promise<boolean>;
  /** Expired ones are dropped along with it. */
  issueToken(token: LoginTokenRow): Promise<void>;
  /** Ends it: of two who come at once one gets it. Null when there is none, or it is over. */
  redeemToken(hash: string, nowMs: number): Promise<LoginTokenRow | null>;
  /** Notes that an assertion was used, until `endsMs`. False when it was before: of two at once one gets true. */
  useAssertion(hash: string, endsMs: number, nowMs: number): Promise<boolean>;
  close(): Promise<void>;
}

export type Login = 'token' | 'admin_key' | 'operator_key' | 'key' | ProviderLogin;

/** Logins at a provider, which say which operator it is and leave no key. */
export type ProviderLogin = (typeof providerLogins)[number];

export const providerLogins = ['oidc', 'saml'] as const;

/** Times are wall-clock ms. */
export interface SessionRow {
  /** Public: `ses_…`. */
  id: string;
  /** SHA-256 of the cookie's secret, hex. */
  hash: string;
  login: Login;
  /** Hash of its key: the session ends with that key. Null: `operator` says whose it is. */
  credential: string | null;
  /** Id of an operator without a key. */
  operator: string | null;
  /** Address that opened it; '' when unknown. */
  address: string;
  agent: string;
  createdMs: number;
  /** Time of its last request, to the minute. */
  seenMs: number;
  /** Its absolute end. */
  endsMs: number;
}

/** Opens one session, once. */
export interface LoginTokenRow {
  /** SHA-256, hex. */
  hash: string;
  /** Role and accounts of the session that it will open. */
  credential: string;
  endsMs: number;
}

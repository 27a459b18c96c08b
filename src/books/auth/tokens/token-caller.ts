/** Beginnings of ids of callers without a key: with tokens, and with keys of another system or certificates. */
export const guestPrefixes = ['token_', 'guest_'] as const;

/** A caller without a key, whom a verified token names. */
export interface TokenCaller {
  /** One for each subject of an issuer in an account; it names its requests and owns its collections. */
  keyId: string;
  name: string;
  account: string;
  /** Null: the account's. */
  plan: string | null;
  /** Globs over aliases; null = all that the plan allows. */
  models: readonly string[] | null;
  /** Part of the configuration that lets it in. Where that leaves, work of its callers ends. */
  source: 'webhook' | 'certificates' | { issuer: string };
  /** End user, null where the token names none; absent: the body may name one. */
  user?: string | null;
}

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
  /** End user; null: the body may name one. */
  user: string | null;
}

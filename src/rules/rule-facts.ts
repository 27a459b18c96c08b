/** Facts of a request that conditions see. They are of this request and its caller alone. */
export interface RuleFacts {
  /** Name in the ledger, such as `chat` or `embeddings`. */
  endpoint: string;
  /** The alias that the request names; '' for none. */
  model: string;
  tag: string;
  /** End user. */
  user: string;
  account: string;
  /** The key as `ACCOUNT/NAME`. */
  key: string;
  key_name: string;
  plan: string;
  stream: boolean;
  tools: boolean;
  /** Estimate of the input. */
  tokens: number;
  /** Most tokens of the answer; 0: the request says nothing. */
  max_tokens: number;
  media: readonly string[];
  /** By lower-case name; undefined: it is not there, or holds a secret. */
  header(name: string): string | undefined;
  /** Language of its texts, by ISO 639-1; '' where it cannot be determined. Undefined: nobody has looked yet. */
  language?: string | undefined;
  /** Share that is left of the fullest budget of the caller, 0 to 1; undefined: nobody has looked yet. */
  budget_left?: number | undefined;
  /** The same of its units. */
  units_left?: number | undefined;
  /** Wall-clock ms. */
  atMs: number;
}

/** Facts that take a look at the body or at the counters, and are asked for only where a condition names them. */
export type LateFact = 'language' | 'budget_left' | 'units_left';

export const lateFacts: readonly string[] = ['language', 'budget_left', 'units_left'] satisfies LateFact[];

type Named = Exclude<keyof RuleFacts, 'header' | 'atMs'> | 'headers' | 'now';

/** Names in conditions with their types in CEL. */
export const factTypes = {
  endpoint: 'string',
  model: 'string',
  tag: 'string',
  user: 'string',
  account: 'string',
  key: 'string',
  key_name: 'string',
  plan: 'string',
  stream: 'bool',
  tools: 'bool',
  tokens: 'int',
  max_tokens: 'int',
  media: 'list<string>',
  headers: 'map<string, string>',
  language: 'string',
  budget_left: 'double',
  units_left: 'double',
  now: 'google.protobuf.Timestamp',
} as const satisfies Record<Named, string>;

/** Headers that hold secrets: no condition and no hook sees them. */
export const secretHeaders: ReadonlySet<string> = new Set(
  (
    'authorization proxy-authorization cookie x-api-key api-key x-goog-api-key x-portkey-api-key ' +
    'x-culvert-key x-amz-security-token'
  ).split(' '),
);

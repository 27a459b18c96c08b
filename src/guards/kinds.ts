/** Checks that this process does itself. */
export const builtInChecks = [
  'personal-data',
  'secrets',
  'links',
  'injection',
  'languages',
  'patterns',
  'words',
] as const;

/** Checks of a request's or an answer's size, and of an answer's form. */
export const formChecks = ['sizes', 'json-schema'] as const;
export type FormCheckName = (typeof formChecks)[number];

/** Sizes that the check `sizes` counts. */
export const sizeKinds = ['chars', 'tokens', 'turns', 'attachments'] as const;
export type SizeKind = (typeof sizeKinds)[number];

/** Checks that ask a service. */
export const outsideChecks = [
  ...(['webhook', 'openai-moderation', 'azure-content-safety', 'bedrock-guardrails'] as const),
  ...(['model-armor', 'presidio', 'lakera', 'model', 'topics', 'grounding'] as const),
] as const;
export type OutsideCheckName = (typeof outsideChecks)[number];

/** Kinds that the check `personal-data` finds. */
export const personalKinds = ['email', 'card', 'iban', 'phone', 'ip', 'national-id'] as const;
export type PersonalKind = (typeof personalKinds)[number];

/** Kinds that the check `secrets` finds. */
export const secretKinds = [
  ...(['aws-key', 'github-token', 'gitlab-token', 'slack-token', 'slack-webhook', 'stripe-key'] as const),
  ...(['anthropic-key', 'openrouter-key', 'openai-key', 'google-key', 'google-oauth', 'npm-token'] as const),
  ...(['pypi-token', 'huggingface-token', 'groq-key', 'xai-key', 'perplexity-key', 'replicate-token'] as const),
  ...(['sendgrid-key', 'twilio-key', 'telegram-token', 'shopify-token', 'digitalocean-token', 'linear-key'] as const),
  ...(['databricks-token', 'vault-token', 'postman-key', 'jwt', 'private-key', 'url-password', 'assigned'] as const),
] as const;
export type SecretKind = (typeof secretKinds)[number];

/** Kinds that the check `links` finds. */
export const linkKinds = ['picture', 'link'] as const;
export type LinkKind = (typeof linkKinds)[number];

/** Kinds that the check `injection` finds. */
export const injectionKinds = ['override', 'leak', 'conceal', 'template', 'hidden'] as const;
export type InjectionKind = (typeof injectionKinds)[number];

/** Languages that the check `languages` knows, by ISO 639-1. */
export const knownLanguages = [
  ...(['am', 'ar', 'az', 'be', 'bg', 'bn', 'bs', 'cs', 'da', 'de', 'el', 'en', 'es', 'fa', 'fr', 'gu', 'ha'] as const),
  ...(['hi', 'hr', 'hu', 'id', 'ig', 'it', 'ja', 'kk', 'kn', 'ko', 'ml', 'mr', 'my', 'ne', 'nl', 'no', 'pa'] as const),
  ...(['pl', 'pt', 'ro', 'ru', 'si', 'so', 'sr', 'sv', 'sw', 'ta', 'te', 'th', 'tl', 'tr', 'uk', 'ur', 'uz'] as const),
  ...(['vi', 'yo', 'zh', 'zu'] as const),
] as const;
export type Language = (typeof knownLanguages)[number];

/** Verdicts of a trial of guards on a text. The first that a guard gives decides. */
export const triedVerdicts = ['unscanned', 'blocked', 'routed', 'masked', 'flagged', 'pass'] as const;
export type TriedVerdict = (typeof triedVerdicts)[number];

/** Parts of requests and answers that a guard can be set to read. */
export const guardedParts = [
  ...(['system', 'user', 'assistant', 'reasoning', 'refusal', 'tool-definition', 'tool-arguments'] as const),
  ...(['tool-result', 'address', 'file-text', 'query', 'document', 'metadata', 'other'] as const),
] as const;
export type GuardedPart = (typeof guardedParts)[number];

/** Texts that come from elsewhere. */
export const partsFromElsewhere: readonly GuardedPart[] = ['tool-result', 'document', 'file-text'];

/** Texts of a conversation's two sides. */
export const partsOfConversation: readonly GuardedPart[] = ['user', 'assistant'];

/** Countries with a numbering plan (libphonenumber), by ISO 3166-1; AC and TA are Ascension and Tristan da Cunha. */
export const phoneCountries =
  `AC AD AE AF AG AI AL AM AO AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BW BY BZ CA
  CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR
  GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GT GU GW GY HK HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP
  KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR
  MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PR PS PT PW PY QA RE RO
  RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TA TC TD TG TH TJ TK TL TM TN TO TR TT
  TV TW TZ UA UG US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW`.split(/\s+/);

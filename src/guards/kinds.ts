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

/** What the check `sizes` counts. */
export const sizeKinds = ['chars', 'tokens', 'turns', 'attachments'] as const;
export type SizeKind = (typeof sizeKinds)[number];

/** Checks that ask a service. */
export const outsideChecks = [
  ...(['webhook', 'openai-moderation', 'azure-content-safety', 'bedrock-guardrails'] as const),
  ...(['model-armor', 'presidio', 'lakera', 'model', 'topics', 'grounding'] as const),
] as const;
export type OutsideCheckName = (typeof outsideChecks)[number];

/** What the check `personal-data` finds. */
export const personalKinds = ['email', 'card', 'iban', 'phone', 'ip', 'national-id'] as const;
export type PersonalKind = (typeof personalKinds)[number];

/** What the check `secrets` finds. */
export const secretKinds = [
  ...(['aws-key', 'github-token', 'gitlab-token', 'slack-token', 'slack-webhook', 'stripe-key'] as const),
  ...(['anthropic-key', 'openrouter-key', 'openai-key', 'google-key', 'google-oauth', 'npm-token'] as const),
  ...(['pypi-token', 'huggingface-token', 'groq-key', 'xai-key', 'perplexity-key', 'replicate-token'] as const),
  ...(['sendgrid-key', 'twilio-key', 'telegram-token', 'shopify-token', 'digitalocean-token', 'linear-key'] as const),
  ...(['databricks-token', 'vault-token', 'postman-key', 'jwt', 'private-key', 'url-password', 'assigned'] as const),
] as const;
export type SecretKind = (typeof secretKinds)[number];

/** What the check `links` finds. */
export const linkKinds = ['picture', 'link'] as const;
export type LinkKind = (typeof linkKinds)[number];

/** What the check `injection` finds. */
export const injectionKinds = ['override', 'leak', 'conceal', 'template', 'hidden'] as const;
export type InjectionKind = (typeof injectionKinds)[number];

/** What the check `languages` knows, by ISO 639-1. */
export const knownLanguages = [
  ...(['am', 'ar', 'az', 'be', 'bg', 'bn', 'bs', 'cs', 'de', 'el', 'en', 'es', 'fa', 'fr', 'gu', 'ha', 'hi'] as const),
  ...(['hr', 'hu', 'id', 'ig', 'it', 'ja', 'kk', 'kn', 'ko', 'ml', 'mr', 'my', 'ne', 'nl', 'pa', 'pl', 'pt'] as const),
  ...(['ro', 'ru', 'si', 'so', 'sr', 'sv', 'sw', 'ta', 'te', 'th', 'tl', 'tr', 'uk', 'ur', 'uz', 'vi', 'yo'] as const),
  ...(['zh', 'zu'] as const),
] as const;
export type Language = (typeof knownLanguages)[number];

/** What a trial of guards says of a text. The first that one of them says decides. */
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

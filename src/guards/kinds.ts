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

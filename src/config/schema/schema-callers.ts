import { z } from 'zod';
import { duration, globs, httpUrl, name, someText, webhookSecret } from '../scalars.ts';

const claim = someText(200);
const byClaim = z.strictObject({ claim: claim.describe('Claim of the token, or its path: `realm_access.roles`.') });

/** Signatures that only the holder of a private key can make: what a caller could forge with a public one is not among them. */
export const tokenAlgorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const;

const tokenSchema = z
  .strictObject({
    issuer: httpUrl().describe(
      'Who signs the tokens: their claim `iss`, to the letter. Its OpenID document says where its keys are.',
    ),
    audience: z
      .union([someText(500), z.array(someText(500)).min(1).max(20)])
      .describe('Claim `aud` of tokens for this server. Tokens for others are refused.'),
    jwks_url: httpUrl()
      .optional()
      .describe('Address of its public keys. Default: what its `/.well-known/openid-configuration` says.'),
    algorithms: z
      .array(z.enum(tokenAlgorithms))
      .min(1)
      .default([...tokenAlgorithms])
      .describe('Signatures that are taken. Default: all that need a private key.'),
    account: z
      .union([name("an account's name"), byClaim])
      .describe('The account of its callers, or the claim that names it. The account must exist.'),
    plans: z
      .strictObject({
        claim: claim.describe('A text, or a list of texts.'),
        by: z
          .record(someText(256), name("a plan's name"))
          .describe('Plans by the value of the claim; the first that fits counts.'),
      })
      .optional()
      .describe("The plan by a claim, such as a group. Default, and where no value fits: the account's."),
    models: z
      .union([globs(), byClaim])
      .optional()
      .describe('Models that its callers may use, or the claim that lists them. Default: all that the plan allows.'),
    user: claim
      .optional()
      .describe(
        'Claim that names the end user, for the ledger and for budgets; a name in the body does not count then. Default: the body names it.',
      ),
    name: claim
      .default('sub')
      .describe('Claim that names the caller in lists. Default: `sub`. Each `sub` counts as one key.'),
  })
  .describe('Callers with tokens (JWT) of an issuer.');

const webhookSchema = z
  .strictObject({
    url: httpUrl().describe(
      'Address of the service. It gets a POST with the key, and answers with the account of its caller.',
    ),
    secret: webhookSecret().describe('Signs the questions, as in Standard Webhooks: `webhook-signature`.'),
    deadline: duration({ min: '10ms', max: '30s' })
      .default(2_000)
      .describe('Longest wait for an answer. A key that is not known yet gets 503 after it.'),
    cache: duration({ min: '0s', max: '1d' })
      .default(5 * 60_000)
      .describe('How long an answer counts, unless it says an earlier end.'),
    refusals_cache: duration({ min: '0s', max: '1h' }).default(10_000).describe('How long a refusal counts.'),
  })
  .describe('Keys of another system, which a service of yours knows (docs/guests.md).');

const certificatesSchema = z
  .strictObject({
    header: z
      .string()
      .regex(/^[A-Za-z0-9-]{1,64}$/, 'expected the name of a header')
      .transform((header) => header.toLowerCase())
      .default('x-client-cert')
      .describe(
        'Header in which a proxy of `server.trusted_proxies` sends the certificate that it has verified. The proxy must remove it from what callers send.',
      ),
    accounts: z
      .array(
        z.strictObject({
          match: someText(500).describe(
            'URI (such as a SPIFFE id), DNS name, e-mail or common name of the certificate, or `sha256:` and its fingerprint; `*` is any text.',
          ),
          account: name("an account's name").describe('The account of its callers. It must exist.'),
          plan: name("a plan's name").optional().describe("Default: the account's."),
          models: globs().optional().describe('Models that its callers may use. Default: all that the plan allows.'),
        }),
      )
      .min(1)
      .max(1_000)
      .describe('Accounts by names in the certificate; the first entry that fits counts.'),
  })
  .describe('Callers with client certificates (mTLS), which a proxy verifies (docs/guests.md).');

/** Callers without a key of this server. */
export const callersSchema = z
  .strictObject({
    tokens: z
      .array(tokenSchema)
      .max(20)
      .default([])
      .refine(
        (list) => new Set(list.map(({ issuer }) => issuer)).size === list.length,
        'two entries have the same issuer',
      )
      .describe('Issuers whose tokens (JWT) open /v1, sent as `Authorization: Bearer`.'),
    webhook: webhookSchema.optional(),
    certificates: certificatesSchema.optional(),
  })
  .describe('These keys say who may call without a key of this server.');

export type CallersConfig = z.output<typeof callersSchema>;
export type KeyWebhookConfig = z.output<typeof webhookSchema>;
export type CertificatesConfig = z.output<typeof certificatesSchema>;
export type TokenIssuerConfig = z.output<typeof tokenSchema>;

import { z } from 'zod';
import { globs, httpUrl, name } from './scalars.ts';

const claim = z.string().min(1).max(200);
const byClaim = z.strictObject({ claim: claim.describe('Claim of the token.') });

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
      .union([z.string().min(1).max(500), z.array(z.string().min(1).max(500)).min(1).max(20)])
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
          .record(z.string().min(1).max(256), name("a plan's name"))
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
  })
  .describe('These keys say who may call without a key of this server.');

export type TokenIssuerConfig = z.output<typeof tokenSchema>;

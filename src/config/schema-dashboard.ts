import { z } from 'zod';
import { isLoopback } from './loopback-host.ts';
import { duration, secret } from './scalars.ts';

const issuerExpected = 'expected the https:// URL of an OpenID provider, as its discovery document names it';

const issuer = z
  .string({ error: issuerExpected })
  .max(2_000)
  .refine((text) => {
    const url = URL.parse(text);
    if (url === null || url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '')
      return false;
    return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
  }, issuerExpected)
  .meta({ kind: 'url' });

const claim = z.string().min(1).max(200);

const rolesSchema = z
  .array(
    z.strictObject({
      group: z.string().min(1).max(256).describe('As the claim holds it; `*` is everyone who logs in.'),
      role: z.enum(['owner', 'admin', 'member', 'viewer', 'billing']).describe('What its members may do.'),
      accounts: z
        .array(z.string().min(1).max(64))
        .min(1)
        .max(1_000)
        .optional()
        .describe('Accounts that they see and may change. Default: all.'),
    }),
  )
  .min(1)
  .max(1_000)
  .describe(
    'What members of a group may. The first line that fits says which role; accounts of all lines with that role add up. Users who match no line are denied.',
  );

const scimSchema = z
  .strictObject({
    token: secret(32).describe('Bearer token that the directory sends, of at least 32 characters.'),
    roles: rolesSchema,
  })
  .describe('SCIM 2.0 at /scim/v2: a directory provisions who logs in by oidc, and ends their sessions.');

const oidcSchema = z
  .strictObject({
    issuer: issuer.describe('Its discovery document is read at the first login.'),
    client_id: claim.describe(
      'Of Culvert, as it is registered there; with the redirect URI `…/dashboard/oidc/callback`.',
    ),
    client_secret: secret().optional().describe('Default: none, for a public client.'),
    name: z.string().min(1).max(60).optional().describe("On the button of the login. Default: the issuer's host."),
    scopes: z
      .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'expected a scope, without spaces'))
      .max(50)
      .default(['openid', 'profile', 'email'])
      .refine((scopes) => scopes.includes('openid'), 'expected openid among the scopes')
      .describe('Asked for at each login. Some providers give groups for a separate scope alone.'),
    groups_claim: claim
      .default('groups')
      .describe('Claim of the ID token, or of userinfo, that lists the groups of a person.'),
    roles: rolesSchema,
  })
  .describe('Login by OpenID Connect: authorization code with PKCE. Groups decide role and accounts at each login.');

/** The logins of the dashboard: who may, and for how long. */
export const dashboardSchema = z
  .strictObject({
    session_idle: duration({ min: '1m', max: '30d' })
      .prefault('12h')
      .describe('A session of the dashboard that sends nothing for so long is over.'),
    session_max: duration({ min: '1m', max: '90d' })
      .prefault('7d')
      .describe('Every session of the dashboard is over after that.'),
    oidc: oidcSchema.optional(),
    scim: scimSchema.optional(),
  })
  .describe('These keys say who may log in to the dashboard, and for how long.');

export type ScimConfig = z.output<typeof scimSchema>;
export type OidcConfig = z.output<typeof oidcSchema>;

import { z } from 'zod';
import { isLoopback } from '../loopback-host.ts';
import { rsaCertificate, rsaPrivateKey } from '../rsa-certificate.ts';
import { duration, secret, someText } from '../scalars.ts';

/** URL of a provider of logins: https, or http on this machine; without a user. */
function providerUrl(expected: string) {
  return z
    .string({ error: expected })
    .max(2_000)
    .refine((text) => {
      const url = URL.parse(text);
      if (url === null || url.hash !== '' || url.username !== '' || url.password !== '') return false;
      return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
    }, expected)
    .meta({ kind: 'url' });
}

const issuerExpected = 'expected the https:// URL of an OpenID provider, as its discovery document names it';

const issuer = providerUrl(issuerExpected).refine((text) => URL.parse(text)?.search === '', issuerExpected);

const claim = someText(200);
const entityId = someText(1_024);

const rolesSchema = z
  .array(
    z.strictObject({
      group: someText(256).describe('As the claim or attribute holds it; `*` is everyone who logs in.'),
      role: z.enum(['owner', 'admin', 'member', 'viewer', 'billing']).describe('What its members may do.'),
      accounts: z
        .array(someText(64))
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
  .describe('SCIM 2.0 at /scim/v2: a directory provisions who logs in by oidc or saml, and ends their sessions.');

const nameSchema = someText(60).optional();

const oidcSchema = z
  .strictObject({
    issuer: issuer.describe('Its discovery document is read at the first login.'),
    client_id: claim.describe(
      'Of Culvert, as it is registered there; with the redirect URI `…/dashboard/oidc/callback`.',
    ),
    client_secret: secret().optional().describe('Default: none, for a public client.'),
    name: nameSchema.describe("On the button of the login. Default: the issuer's host."),
    scopes: z
      .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'expected a scope, without spaces'))
      .max(50)
      .default(['openid', 'profile', 'email'])
      .refine((scopes) => scopes.includes('openid'), 'expected openid among the scopes')
      .describe('Asked for at each login. Some providers give groups for a separate scope alone.'),
    groups_claim: claim
      .default('groups')
      .describe(
        'Claim of the ID token, or of userinfo, that lists the groups of a person; or its path: `realm_access.roles`.',
      ),
    roles: rolesSchema,
  })
  .describe('Login by OpenID Connect: authorization code with PKCE. Groups decide role and accounts at each login.');

const certificateExpected = 'expected an X.509 certificate with an RSA key, as PEM or base64';

const certificate = z
  .string({ error: certificateExpected })
  .max(20_000)
  .refine((text) => rsaCertificate(text) !== null, certificateExpected);

const idpExpected = 'expected one of metadata_url, metadata, and the three entity_id, sso_url and certificates';

const idpSchema = z
  .strictObject({
    metadata_url: providerUrl('expected an https:// URL')
      .optional()
      .describe('Address of its metadata. Culvert reads it at the first login, and again when an hour has passed.'),
    metadata: someText(1_000_000)
      .optional()
      // biome-ignore lint/suspicious/noTemplateCurlyInString: shown as people write it
      .describe('The XML of its metadata, such as `${file:idp.xml}`.'),
    entity_id: entityId.optional().describe('Its entity ID. With metadata: which of several providers in it.'),
    sso_url: providerUrl('expected an https:// URL')
      .optional()
      .describe('Address that a browser is sent to for a login, with the binding HTTP-Redirect.'),
    certificates: z
      .array(certificate)
      .min(1)
      .max(10)
      .optional()
      .describe('Certificates that it may sign with, as PEM or base64: the next one too while it changes them.'),
  })
  .superRefine(({ metadata_url, metadata, entity_id, sso_url, certificates }, context) => {
    const fields = [entity_id, sso_url, certificates];
    const isByFields = fields.every((field) => field !== undefined);
    const isByMetadata = sso_url === undefined && certificates === undefined;
    const ways = [metadata_url !== undefined, metadata !== undefined, isByFields].filter(Boolean);
    if (ways.length !== 1 || !(isByFields || isByMetadata)) context.addIssue({ code: 'custom', message: idpExpected });
  })
  .describe('The identity provider: its metadata by address or as text, or the three fields that matter in it.');

const keyExpected = 'expected an RSA private key as PEM, without a passphrase';

const signingSchema = z
  .strictObject({
    private_key: secret()
      .refine((text) => rsaPrivateKey(text) !== null, keyExpected)
      .describe('RSA private key, as PEM.'),
    certificate: certificate.describe('Its certificate, which the metadata of Culvert shows.'),
  })
  .describe('Signs the requests for logins. Default: they are not signed, which most providers accept.');

const samlSchema = z
  .strictObject({
    idp: idpSchema,
    name: nameSchema.describe('On the button of the login. Default: SAML.'),
    entity_id: entityId
      .optional()
      .describe('Entity ID of Culvert. Default: `/dashboard/saml/metadata` below server.public_url.'),
    email_attribute: claim.default('email').describe('Attribute with the e-mail address of a person.'),
    name_attribute: claim.default('name').describe('Attribute with the name of a person.'),
    groups_attribute: claim.default('groups').describe('Attribute that lists the groups of a person.'),
    roles: rolesSchema,
    signing: signingSchema.optional(),
    idp_initiated: z
      .boolean()
      .default(false)
      .describe(
        'Also accept logins that begin at the identity provider. A foreign page can log a browser in that way.',
      ),
    allow_sha1: z.boolean().default(false).describe('Accept signatures with SHA-1, which others can forge.'),
  })
  .describe(
    'Login by SAML 2.0. Needs server.public_url. Groups decide role and accounts at each login, as those of oidc do.',
  );

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
    saml: samlSchema.optional(),
    scim: scimSchema.optional(),
  })
  .describe('These keys say who may log in to the dashboard, and for how long.');

export type ScimConfig = z.output<typeof scimSchema>;
export type OidcConfig = z.output<typeof oidcSchema>;
export type SamlConfig = z.output<typeof samlSchema>;
/** Roles of groups, the same for every way to log in. */
export type GroupRoles = z.output<typeof rolesSchema>;

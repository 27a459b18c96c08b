import { rsaPrivateKey } from '../../../config/rsa-certificate.ts';
import type { SamlConfig } from '../../../config/schema/schema-dashboard.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { createIdentityProvider } from './identity-provider.ts';
import type { SamlThread } from './saml-thread.ts';
import type { ServiceProvider } from './saml-worker.ts';
import { type SignedIdentity, signedIdentity } from './signed-identity.ts';

/** Addresses of this service provider as browsers have them, and the browser that asks. */
export interface SamlPlaces {
  /** Where it is sent assertions. */
  acs: string;
  /** Default of its entity ID. */
  metadata: string;
  /** The sender, whose work takes turns with that of others. */
  client: string;
}

/** A response as a browser brings it. */
export interface BroughtResponse {
  xml: string;
  /** Id of the request that this browser began with; null: none. */
  requestId: string | null;
}

/** Login by SAML 2.0 at one identity provider. */
export type SamlLogin = ReturnType<typeof createSamlLogin>;

/** Difference of two clocks that is no fault. */
const skewMs = 60_000;
/** Longest time between the issue of an assertion and its use, whatever the provider says. */
const ageMsMax = 10 * 60_000;

export function createSamlLogin(
  config: SamlConfig,
  { clock, thread, onTrouble }: { clock: Clock; thread: SamlThread; onTrouble(message: string): void },
) {
  const provider = createIdentityProvider(config.idp, clock, onTrouble);
  const { signing } = config;

  function serviceProvider({ acs, metadata }: SamlPlaces): ServiceProvider {
    const privateKey = signing === undefined ? null : rsaPrivateKey(signing.private_key);
    return {
      entityId: config.entity_id ?? metadata,
      acs,
      signing: signing === undefined || privateKey === null ? null : { privateKey, certificate: signing.certificate },
    };
  }

  return {
    /** Address that the browser goes to. Rejects when the metadata of the provider cannot be read. */
    async begin(requestId: string, places: SamlPlaces, ask: 'anew' | 'as-usual'): Promise<string> {
      const { ssoUrl } = await provider();
      const order = { ...serviceProvider(places), requestId, ssoUrl, ask };
      return inTime(await thread.run(places.client, 'begin', order));
    },
    /** The identity in a response, or why it is refused: a sentence for the log. Rejects as `begin` does. */
    async finish({ xml, requestId }: BroughtResponse, places: SamlPlaces): Promise<SignedIdentity | { why: string }> {
      const refusal = responseRefusal(xml, { sha1: config.allow_sha1 ? 'accepted' : 'refused' });
      if (refusal !== null) return { why: refusal };
      const { entityId, certificates } = await provider();
      const audience = serviceProvider(places).entityId;
      const verified = inTime(
        await thread.run(places.client, 'verify', { xml, certificates, audience, skewMs, ageMsMax }),
      );
      if ('why' in verified) return verified;
      return signedIdentity(
        verified.assertion,
        {
          issuer: entityId,
          recipient: places.acs,
          requestId,
          unsolicited: config.idp_initiated ? 'accepted' : 'refused',
          nowMs: clock.wallMs(),
          skewMs,
          ageMsMax,
        },
        config,
      );
    },
    /** XML that describes Culvert to the identity provider. Rejects when it is not written in time. */
    metadata: async (places: SamlPlaces): Promise<string> =>
      inTime(await thread.run(places.client, 'metadata', serviceProvider(places))),
  };
}

function inTime<T>(result: T | null): T {
  if (result === null) throw new Error('the thread of SAML did not answer in time');
  return result;
}

/**
 * Limits for a response before any parser of XML sees it. The parsers and queries of SAML libraries take time by the
 * square of the number of elements: 64 KB of small ones take half a minute.
 */
const signsMax = { '<': 2_500, '=': 6_000 } as const;

const digests = ['http://www.w3.org/2001/04/xmlenc#sha256', 'http://www.w3.org/2001/04/xmlenc#sha512'];
const signatures = [
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
];
const transforms = [
  'http://www.w3.org/2000/09/xmldsig#enveloped-signature',
  'http://www.w3.org/2001/10/xml-exc-c14n#',
  'http://www.w3.org/TR/2001/REC-xml-c14n-20010315',
];
const sha1 = ['http://www.w3.org/2000/09/xmldsig#sha1', 'http://www.w3.org/2000/09/xmldsig#rsa-sha1'];

/**
 * Why a response is not read at all: it has a DTD, a comment or another form that no identity provider needs, too many
 * parts, or an algorithm that is not accepted. Null when it may be read.
 */
function responseRefusal(xml: string, hashes: { sha1: 'accepted' | 'refused' }): string | null {
  // Attacks on signatures hide in these: entities that grow, and comments that cut a name.
  if (xml.includes('<!')) return 'the response has a DTD, a comment or a CDATA section';
  if (xml.replace(/^\s*<\?xml\s[^>]*\?>/, '').includes('<?')) return 'the response has a processing instruction';
  for (const [sign, max] of Object.entries(signsMax)) {
    if (xml.split(sign, max + 2).length > max + 1) return `the response has more than ${max} '${sign}'`;
  }
  const allowed = [...digests, ...signatures, ...transforms, ...(hashes.sha1 === 'accepted' ? sha1 : [])];
  // Also finds what is no attribute, which can only refuse more.
  for (const [, algorithm = ''] of xml.matchAll(/Algorithm\s*=\s*["']([^"']*)["']/g)) {
    if (!allowed.includes(algorithm)) return `the response uses the algorithm '${algorithm.slice(0, 100)}'`;
  }
  return null;
}

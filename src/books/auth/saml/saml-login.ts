import { rsaPrivateKey } from '../../../config/rsa-certificate.ts';
import type { SamlConfig } from '../../../config/schema/schema-dashboard.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { createIdentityProvider } from './identity-provider.ts';
import { responseRefusal } from './response-form.ts';
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
export interface SamlLogin {
  /** Address that the browser goes to. Rejects when the metadata of the provider cannot be read. */
  begin(requestId: string, places: SamlPlaces, ask: 'anew' | 'as-usual'): Promise<string>;
  /** The identity in a response, or why it is refused: a sentence for the log. Rejects as `begin` does. */
  finish(response: BroughtResponse, places: SamlPlaces): Promise<SignedIdentity | { why: string }>;
  /** XML that describes Culvert to the identity provider. Rejects when it is not written in time. */
  metadata(places: SamlPlaces): Promise<string>;
}

/** Difference of two clocks that is no fault. */
const skewMs = 60_000;
/** Longest time between the issue of an assertion and its use, whatever the provider says. */
const ageMsMax = 10 * 60_000;

export function createSamlLogin(
  config: SamlConfig,
  { clock, thread, onTrouble }: { clock: Clock; thread: SamlThread; onTrouble(message: string): void },
): SamlLogin {
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
    async begin(requestId, places, ask) {
      const { ssoUrl } = await provider();
      const order = { ...serviceProvider(places), requestId, ssoUrl, ask };
      return inTime(await thread.run(places.client, 'begin', order));
    },
    async finish({ xml, requestId }, places) {
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
    metadata: async (places) => inTime(await thread.run(places.client, 'metadata', serviceProvider(places))),
  };
}

function inTime<T>(result: T | null): T {
  if (result === null) throw new Error('the thread of SAML did not answer in time');
  return result;
}

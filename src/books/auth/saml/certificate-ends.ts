import { X509Certificate } from 'node:crypto';
import type { SamlConfig } from '../../../config/schema/schema-dashboard.ts';
import type { Clock } from '../../../kernel/clock.ts';
import { withinMs } from '../../../kernel/within-ms.ts';
import { createIdentityProvider } from './identity-provider.ts';

/** Ends of the certificates of a login by SAML, in wall-clock ms. */
export interface CertificateEnds {
  /** End of the identity provider's certificate that lasts longest; null: its metadata is not known yet. */
  provider: number | null;
  /** End of the certificate that signs Culvert's requests; null: they are not signed. */
  signing: number | null;
  /** Why the metadata cannot be read; null: it can. */
  trouble: string | null;
}

/** Nobody waits longer for metadata; the next look has it. */
const waitMaxMs = 2_000;
/** Metadata that could not be read is asked for again after this time. */
const againAfterMs = 5 * 60_000;

/** Looks of one process at the certificates in force. Metadata by URL is read once an hour at most. */
export function createCertificateLook(clock: Clock): (config: SamlConfig) => Promise<CertificateEnds> {
  let known: { config: SamlConfig; provider: ReturnType<typeof createIdentityProvider> } | null = null;
  let failed: { trouble: string; atMs: number } | null = null;

  return async (config) => {
    if (known?.config !== config) {
      known = { config, provider: createIdentityProvider(config.idp, clock, () => undefined) };
      failed = null;
    }
    const { signing: signer } = config;
    const signing = signer === undefined ? null : endOf(signer.certificate);
    if (failed !== null && clock.monotonicMs() - failed.atMs < againAfterMs) {
      return { provider: null, signing, trouble: failed.trouble };
    }
    const read = known.provider().then(
      ({ certificates }) => {
        failed = null;
        return { provider: Math.max(...certificates.map(endOf)), trouble: null };
      },
      (error) => {
        const trouble = error instanceof Error ? error.message : String(error);
        failed = { trouble, atMs: clock.monotonicMs() };
        return { provider: null, trouble };
      },
    );
    return { ...(await withinMs(waitMaxMs, read, { provider: null, trouble: null })), signing };
  };
}

function endOf(certificate: string): number {
  return Date.parse(new X509Certificate(certificate).validTo);
}

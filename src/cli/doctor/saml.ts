import type { CertificateEnds, createCertificateLook } from '../../books/auth/saml/certificate-ends.ts';
import type { SamlConfig } from '../../config/schema/schema-dashboard.ts';
import { type Clock, dayMs } from '../../kernel/clock.ts';
import { type Finding, ok, problem, warning } from './finding.ts';

const warnsFromMs = 30 * dayMs;
/** The last day. It is a problem, so that an alert comes a second time. */
const urgentFromMs = dayMs;

const nextOfProvider =
  'Have the identity provider publish its next certificate. Where dashboard.saml.idp lists certificates, add it there.';
const nextOfSigning = 'Set a new certificate in dashboard.saml.signing, and give the identity provider its metadata.';

/** Looks of one process at the login by SAML, of which nothing is loaded where there is none. */
export function createSamlLook(clock: Clock): (config: SamlConfig | undefined) => Promise<Finding[]> {
  let look: ReturnType<typeof createCertificateLook> | null = null;
  return async (config) => {
    if (config === undefined) return [];
    look ??= (await import('../../books/auth/saml/certificate-ends.ts')).createCertificateLook(clock);
    return samlFindings(await look(config), clock.wallMs());
  };
}

/** Findings about certificates of a login by SAML, which end without a notice from anybody. */
export function samlFindings({ provider, signing, trouble }: CertificateEnds, nowMs: number): Finding[] {
  const unread = warning(
    'saml metadata',
    `The metadata of the SAML identity provider cannot be read: ${trouble}.`,
    'Correct dashboard.saml.idp.metadata_url, or repair the provider. Nobody can log in by SAML meanwhile.',
  );
  return [
    ...(trouble === null ? [] : [unread]),
    ...(provider === null
      ? []
      : [ending('saml certificate', 'of the identity provider', provider, nowMs, nextOfProvider)]),
    ...(signing === null ? [] : [ending('saml signing', 'that signs SAML requests', signing, nowMs, nextOfSigning)]),
  ];
}

function ending(check: string, which: string, endsMs: number, nowMs: number, fix: string): Finding {
  const on = new Date(endsMs).toISOString().slice(0, 10);
  const leftMs = endsMs - nowMs;
  if (leftMs > warnsFromMs) return ok(check, `ends on ${on}`);
  if (leftMs <= 0) return problem(check, `The certificate ${which} ended on ${on}.`, fix);
  const days = Math.floor(leftMs / dayMs);
  const left = days === 0 ? 'within a day' : `in ${days} ${days === 1 ? 'day' : 'days'}`;
  const found = leftMs <= urgentFromMs ? problem : warning;
  return found(check, `The certificate ${which} ends ${left}, on ${on}.`, fix);
}

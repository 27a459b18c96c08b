import { DomUtils, parseDocument } from 'htmlparser2';
import { rsaCertificate } from '../../../config/rsa-certificate.ts';

/** The part of an identity provider's metadata that a login needs. */
export interface IdpMetadata {
  entityId: string;
  /** Address of its logins, with the binding HTTP-Redirect. */
  ssoUrl: string;
  /** PEM; at least one. */
  certificates: readonly string[];
}

type Element = ReturnType<typeof DomUtils.getElementsByTagName>[number];

const redirectBinding = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect';
const samlProtocol = 'urn:oasis:names:tc:SAML:2.0:protocol';
/** While a provider changes its certificate it has two; each of them costs time at every login. */
const certificatesMax = 10;

/**
 * Reads metadata of one identity provider, or of many: then `entityId` says which. Entities of a DTD are not expanded.
 * Throws with a sentence for the log.
 */
export function readIdpMetadata(xml: string, entityId: string | undefined, nowMs: number): IdpMetadata {
  const document = parseDocument(xml, { xmlMode: true });
  const providers = named(document.children, 'EntityDescriptor').filter(
    (one) => idpRoles(one).length > 0 && (entityId === undefined || one.attribs.entityID === entityId),
  );
  const [provider, another] = providers;
  if (provider === undefined) {
    throw new Error(
      `the metadata has no identity provider ${entityId === undefined ? '' : `'${entityId}' `}of SAML 2.0`,
    );
  }
  if (another !== undefined) throw new Error('the metadata has several identity providers: set idp.entity_id');
  const { entityID: id, validUntil } = provider.attribs;
  if (id === undefined || id === '') throw new Error('the metadata lacks an entityID');
  if (validUntil !== undefined && !(Date.parse(validUntil) > nowMs)) {
    throw new Error(`the metadata is no longer valid (validUntil="${validUntil.slice(0, 40)}")`);
  }
  const [role] = idpRoles(provider);
  const inRole = role?.children ?? [];
  const service = named(inRole, 'SingleSignOnService').find(({ attribs }) => attribs.Binding === redirectBinding);
  const ssoUrl = URL.parse(service?.attribs.Location ?? '');
  if (ssoUrl === null || !['https:', 'http:'].includes(ssoUrl.protocol)) {
    throw new Error('the metadata has no SingleSignOnService with the binding HTTP-Redirect');
  }
  return { entityId: id, ssoUrl: ssoUrl.href, certificates: signingCertificates(inRole) };
}

function idpRoles({ children }: Element): Element[] {
  return named(children, 'IDPSSODescriptor').filter(({ attribs }) =>
    (attribs.protocolSupportEnumeration ?? '').split(/\s+/).includes(samlProtocol),
  );
}

function signingCertificates(inRole: Element['children']): string[] {
  const keys = named(inRole, 'KeyDescriptor').filter(({ attribs: { use } }) => use === undefined || use === 'signing');
  const texts = keys.flatMap(({ children }) =>
    named(children, 'X509Certificate').map((one) => DomUtils.textContent(one)),
  );
  const certificates = texts.slice(0, certificatesMax).flatMap((text) => rsaCertificate(text) ?? []);
  if (certificates.length === 0) throw new Error('the metadata has no certificate with an RSA key to sign with');
  return [...new Set(certificates)];
}

/** Elements at any depth by their local name: each provider writes another prefix. */
function named(nodes: Element['children'], name: string): Element[] {
  return DomUtils.getElements(
    { tag_name: (tag) => tag === name || tag.endsWith(`:${name}`) },
    nodes,
    true,
  ) as Element[];
}

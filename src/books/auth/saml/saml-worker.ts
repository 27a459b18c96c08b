import { generateServiceProviderMetadata, SAML, ValidateInResponseTo } from '@node-saml/node-saml';
import { answerOrders } from '../../../kernel/threads/thread-port.ts';

/** RSA key and certificate, as PEM. */
export interface Signing {
  privateKey: string;
  certificate: string;
}

/** Culvert as a service provider. */
export interface ServiceProvider {
  entityId: string;
  /** Address of its assertion consumer service. */
  acs: string;
  /** Null: requests are not signed. */
  signing: Signing | null;
}

/** Orders of the thread with their results; each is answered once, in turn. */
export interface SamlWork {
  /** The address that a browser goes to for a login. */
  begin: { order: ServiceProvider & { requestId: string; ssoUrl: string; ask: 'anew' | 'as-usual' }; result: string };
  /** XML that describes Culvert to an identity provider. */
  metadata: { order: ServiceProvider; result: string };
  /** The signed assertion as a tree of xml2js, made of signed bytes alone; or why there is none, for the log. */
  verify: {
    order: {
      xml: string;
      /** PEM. */
      certificates: readonly string[];
      audience: string;
      skewMs: number;
      ageMsMax: number;
    };
    result: { assertion: unknown } | { why: string };
  };
}

type Orders = { [Kind in keyof SamlWork]: { id: number; kind: Kind } & SamlWork[Kind]['order'] };

answerOrders(done);

function done(order: Orders[keyof Orders]): Promise<SamlWork[keyof SamlWork]['result']> {
  if (order.kind === 'verify') return verified(order);
  return order.kind === 'begin' ? loginUrl(order) : Promise.resolve(spMetadata(order));
}

function loginUrl({ entityId, acs, signing, requestId, ssoUrl, ask }: SamlWork['begin']['order']): Promise<string> {
  const saml = new SAML({
    ...signer(signing),
    entryPoint: ssoUrl,
    // Required, and only for responses.
    idpCert: 'none',
    issuer: entityId,
    callbackUrl: acs,
    generateUniqueId: () => requestId,
    forceAuthn: ask === 'anew',
    // How people prove who they are, and how they are called, is for the provider to say.
    disableRequestedAuthnContext: true,
    identifierFormat: null,
  });
  return saml.getAuthorizeUrlAsync('', undefined, {});
}

function spMetadata({ entityId, acs, signing }: SamlWork['metadata']['order']): string {
  return generateServiceProviderMetadata({
    ...signer(signing),
    publicCerts: signing?.certificate ?? null,
    issuer: entityId,
    callbackUrl: acs,
    identifierFormat: null,
    wantAssertionsSigned: true,
  });
}

function signer(signing: Signing | null) {
  return signing === null ? {} : { privateKey: signing.privateKey, signatureAlgorithm: 'sha256' as const };
}

async function verified(order: SamlWork['verify']['order']): Promise<SamlWork['verify']['result']> {
  const saml = new SAML({
    idpCert: [...order.certificates],
    issuer: order.audience,
    audience: order.audience,
    // One of the two must be signed, and Culvert reads what is signed.
    wantAssertionsSigned: false,
    wantAuthnResponseSigned: false,
    acceptedClockSkewMs: order.skewMs,
    maxAssertionAgeMs: order.ageMsMax,
    // The signed part of the assertion is compared with the cookie instead.
    validateInResponseTo: ValidateInResponseTo.never,
    // Required, and only for requests.
    callbackUrl: order.audience,
  });
  try {
    const { profile } = await saml.validatePostResponseAsync({
      SAMLResponse: Buffer.from(order.xml).toString('base64'),
    });
    const assertion = profile?.getAssertion?.();
    return assertion === undefined ? { why: 'the response has no assertion' } : { assertion: plain(assertion) };
  } catch (error) {
    return { why: error instanceof Error ? error.message : String(error) };
  }
}

/** Objects of xml2js have no prototype. */
function plain(tree: unknown): unknown {
  return JSON.parse(JSON.stringify(tree));
}

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { one } from './saml-certificates.ts';
import type { PlainBrowser } from './start-openid-provider.ts';

/** The used part of samlify; its types would declare a browser for all sources. */
interface Samlify {
  setSchemaValidator(validator: { validate(xml: string): Promise<string> }): void;
  ServiceProvider(settings: { metadata: string }): SamlEntity;
  IdentityProvider(settings: Record<string, unknown>): SamlEntity & {
    parseLoginRequest(sp: SamlEntity, binding: string, request: object): Promise<ReadRequest>;
  };
  SamlLib: {
    defaultLoginResponseTemplate: { context: string };
    replaceTagsByValue(xml: string, values: Record<string, string | null>): string;
    constructSAMLSignature(order: Record<string, unknown>): string;
  };
}
interface SamlEntity {
  entityMeta: {
    getEntityID(): string;
    getAssertionConsumerService(binding: string): string;
    isAuthnRequestSigned(): boolean;
    getX509Certificate(use: string): string | string[];
  };
}
interface ReadRequest {
  samlContent: string;
  extract: { request: { id: string } };
}

/** Parts of one response; null leaves an attribute out. */
export type ResponseValues = Record<
  | 'ID'
  | 'AssertionID'
  | 'IssueInstant'
  | 'Issuer'
  | 'Audience'
  | 'SubjectRecipient'
  | 'SubjectConfirmationDataNotOnOrAfter'
  | 'ConditionsNotBefore'
  | 'ConditionsNotOnOrAfter'
  | 'InResponseTo'
  | 'NameID'
  | 'NameIDFormat',
  string | null
>;

/** How the provider answers from now on. The default is as most do: the assertion is signed with SHA-256. */
export interface Answering {
  signs: 'assertion' | 'response' | 'both' | 'nothing';
  hash: 'sha1' | 'sha256' | 'sha512';
  key: { key: string; cert: string };
  /** Changes parts before they are signed. */
  values(values: ResponseValues): Partial<ResponseValues>;
  /** Changes the XML after it was signed. */
  afterwards(xml: string): string;
}

interface Person {
  /** Address that Entra ID names in place of groups that are too many. */
  groupsLink?: string;
  groups?: readonly string[];
  name?: string;
  email?: string;
}

/** Form that a browser brings back. */
export interface Brought {
  action: string;
  fields: Record<string, string>;
}

export interface SamlProvider {
  url: string;
  entityId: string;
  /** `dashboard.saml` of a gateway that logs people in here. */
  settings(roles: readonly object[]): Record<string, unknown>;
  /** A person's identity from the next login on. */
  people: Map<string, Person>;
  answering: Answering;
  /** Certificates in its metadata. */
  certificates: string[];
  /** False: its metadata cannot be had. */
  isThere: boolean;
  /** Registers the gateway at this address, by its metadata. */
  register(gatewayUrl: string): Promise<void>;
  /** Paths that were asked for, with what requests for logins named. */
  asked: string[];
  /** Requests for logins, as XML. */
  requests: string[];
  /** A response that no gateway asked for. */
  unsolicited(person: string, relayState?: string): Promise<Brought>;
  close(): Promise<void>;
}

const asUsual: Answering = {
  signs: 'assertion',
  hash: 'sha256',
  key: one,
  values: () => ({}),
  afterwards: (xml) => xml,
};
const algorithms = {
  sha1: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1',
  sha256: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  sha512: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
};
const nameIdFormat = 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified';
const redirect = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect';

/**
 * A real SAML identity provider on a free port: samlify reads the requests, checks their signatures, and makes and signs
 * the responses. Its login page takes any name of a person.
 */
export async function startSamlProvider(): Promise<SamlProvider> {
  const samlify = (await import('samlify' as string)) as Samlify;
  // It is there to test Culvert, which sends it nothing of a schema.
  samlify.setSchemaValidator({ validate: () => Promise.resolve('not looked at') });
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let serviceProvider: SamlEntity | null = null;
  const provider: SamlProvider = {
    url,
    entityId: `${url}/entity`,
    settings: (roles) => ({ idp: { metadata_url: `${url}/metadata` }, name: 'Example', roles }),
    people: new Map(),
    answering: asUsual,
    certificates: [one.cert],
    isThere: true,
    asked: [],
    requests: [],
    async register(gatewayUrl) {
      const metadata = await fetch(`${gatewayUrl}/dashboard/saml/metadata`);
      serviceProvider = samlify.ServiceProvider({ metadata: await metadata.text() });
    },
    unsolicited: (person, relayState) => responseFor(person, null, relayState),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  function identityProvider(signing: { key: string; cert: string } = provider.answering.key) {
    return samlify.IdentityProvider({
      entityID: provider.entityId,
      privateKey: signing.key,
      signingCert: provider.certificates,
      requestSignatureAlgorithm: algorithms[provider.answering.hash],
      nameIDFormat: [nameIdFormat],
      singleSignOnService: [{ Binding: redirect, Location: `${url}/sso` }],
      // It complains where there is none.
      singleLogoutService: [{ Binding: redirect, Location: `${url}/slo` }],
      wantAuthnRequestsSigned: registered().entityMeta.isAuthnRequestSigned(),
    });
  }

  function registered(): SamlEntity {
    if (serviceProvider === null) throw new Error('no gateway is registered');
    return serviceProvider;
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, search, searchParams } = new URL(request.url ?? '', url);
    provider.asked.push(pathname);
    if (pathname === '/metadata' && !provider.isThere) return void response.writeHead(503).end();
    if (pathname === '/metadata') return page(response, metadataXml(), 'application/xml');
    if (pathname === '/sso' && request.method === 'GET') {
      const query = Object.fromEntries(searchParams);
      // A signature is of the query as it was sent, without itself.
      const octetString = search.slice(1).replace(/&?Signature=[^&]*/, '');
      const read = await identityProvider().parseLoginRequest(registered(), 'redirect', { query, octetString });
      provider.requests.push(read.samlContent);
      const { id } = read.extract.request;
      return page(
        response,
        `<form method="post" action="/sso?id=${id}"><input name="login"><button>Log in</button></form>`,
      );
    }
    if (pathname === '/sso') {
      const person = new URLSearchParams(await bodyOf(request)).get('login') ?? '';
      return page(response, formPage(await responseFor(person, searchParams.get('id'))));
    }
    response.writeHead(404).end();
  }

  /** By hand: samlify lists one certificate twice where there are two. */
  function metadataXml(): string {
    const keys = provider.certificates.map((pem) => {
      const base64 = pem.replace(/-----[^-]+-----|\s/g, '');
      return `<md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data>
        <ds:X509Certificate>${base64.replace(/.{64}/g, '$&\n')}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`;
    });
    return `<?xml version="1.0"?>
      <md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${provider.entityId}">
      <md:IDPSSODescriptor WantAuthnRequestsSigned="false" protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
      ${keys.join('')}<md:SingleSignOnService Binding="${redirect}" Location="${url}/sso"/></md:IDPSSODescriptor></md:EntityDescriptor>`;
  }

  async function responseFor(person: string, id: string | null, relayState?: string): Promise<Brought> {
    const { answering } = provider;
    const sp = registered();
    const acs = sp.entityMeta.getAssertionConsumerService('post');
    const values = valuesFor(person, id, acs, sp.entityMeta.getEntityID());
    Object.assign(values, answering.values(values));
    const template = samlify.SamlLib.defaultLoginResponseTemplate.context.replace(
      '{AttributeStatement}',
      attributesXml(provider.people.get(person) ?? {}),
    );
    const context = samlify.SamlLib.replaceTagsByValue(template, { ...values, AuthnStatement: '' });
    const signer = identityProvider();
    const xml = answering.signs === 'nothing' ? context : signed(context, signer);
    return {
      action: acs,
      fields: {
        SAMLResponse: Buffer.from(answering.afterwards(xml)).toString('base64'),
        ...(relayState !== undefined && { RelayState: relayState }),
      },
    };
  }

  /** The XML with the signatures of samlify: of the assertion, then of the response around it. */
  function signed(xml: string, signer: SamlEntity): string {
    const { signs, key, hash } = provider.answering;
    const common = {
      privateKey: key.key,
      signatureAlgorithm: algorithms[hash],
      signingCert: signer.entityMeta.getX509Certificate('signing'),
      isBase64Output: false,
    };
    const place = (parent: string) => ({
      prefix: 'ds',
      location: { reference: `${parent}/*[local-name(.)='Issuer']`, action: 'after' as const },
    });
    const response = "/*[local-name(.)='Response']";
    const assertion = `${response}/*[local-name(.)='Assertion']`;
    let made = xml;
    if (signs !== 'response') {
      const order = { rawSamlMessage: made, referenceTagXPath: assertion, signatureConfig: place(assertion) };
      made = samlify.SamlLib.constructSAMLSignature({ ...common, ...order });
    }
    if (signs !== 'assertion') {
      const order = { rawSamlMessage: made, isMessageSigned: true, signatureConfig: place(response) };
      made = samlify.SamlLib.constructSAMLSignature({ ...common, ...order });
    }
    return made;
  }

  function valuesFor(person: string, id: string | null, acs: string, audience: string): ResponseValues {
    const at = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
    return {
      ID: `_r${crypto.randomUUID()}`,
      AssertionID: `_a${crypto.randomUUID()}`,
      IssueInstant: at(0),
      Issuer: provider.entityId,
      Audience: audience,
      SubjectRecipient: acs,
      SubjectConfirmationDataNotOnOrAfter: at(5),
      ConditionsNotBefore: at(0),
      ConditionsNotOnOrAfter: at(5),
      InResponseTo: id,
      NameID: person,
      NameIDFormat: nameIdFormat,
      ...{ Destination: acs, StatusCode: 'urn:oasis:names:tc:SAML:2.0:status:Success' },
    };
  }

  return provider;
}

const linkName = 'http://schemas.microsoft.com/claims/groups.link';

function attributesXml({ groups = [], groupsLink, name, email }: Person): string {
  const attribute = (attributeName: string, values: readonly (string | undefined)[]) => {
    const given = values.filter((value) => value !== undefined);
    const texts = given.map(
      (value) => `<saml:AttributeValue xsi:type="xs:string">${escaped(value)}</saml:AttributeValue>`,
    );
    return texts.length === 0 ? '' : `<saml:Attribute Name="${attributeName}">${texts.join('')}</saml:Attribute>`;
  };
  const all =
    attribute('groups', groups) +
    attribute('name', [name]) +
    attribute('email', [email]) +
    attribute(linkName, [groupsLink]);
  return all === '' ? '' : `<saml:AttributeStatement>${all}</saml:AttributeStatement>`;
}

function escaped(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
}

function page(response: ServerResponse, text: string, type = 'text/html'): void {
  response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(text);
}

/** Posts itself in a browser with scripts, as such pages of providers do. */
function formPage({ action, fields }: Brought): string {
  const inputs = Object.entries(fields).map(([name, value]) => `<input type="hidden" name="${name}" value="${value}">`);
  return `<form method="post" action="${action}">${inputs.join('')}<button>Continue</button></form>
    <script>document.forms[0].submit()</script>`;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  return body;
}

/** Through the provider's pages as this person; the form that its last page would send. */
export async function samlLogin(browser: PlainBrowser, person: string, start: string): Promise<Brought> {
  const { url, response } = await browser.follow(start);
  const login = await response.text();
  const action = /<form[^>]*action="([^"]+)"/.exec(login)?.[1];
  if (action === undefined) throw new Error(`no form at ${url}: ${response.status} ${login.slice(0, 500)}`);
  const body = new URLSearchParams({ login: person });
  const last = await (await browser.fetch(new URL(action, url).href, { method: 'POST', body })).text();
  const acs = /<form[^>]*action="([^"]+)"/.exec(last)?.[1];
  if (acs === undefined) throw new Error(`the provider made no response: ${last.slice(0, 500)}`);
  const inputs = last.matchAll(/name="([^"]+)" value="([^"]*)"/g);
  return { action: acs, fields: Object.fromEntries([...inputs].map(([, name, value]) => [name, value])) };
}

/** Sends the form as a browser does that comes from the provider. */
export function bring(browser: PlainBrowser, { action, fields }: Brought, init: RequestInit = {}): Promise<Response> {
  return browser.fetch(action, { method: 'POST', body: new URLSearchParams(fields), ...init });
}

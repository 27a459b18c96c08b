import { constants, createHash, createPrivateKey, randomUUID, sign, X509Certificate } from 'node:crypto';
import { type Clock, systemClock } from '../../kernel/clock.ts';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import { withoutSecrets } from '../../kernel/secret-spellings.ts';
import { getJson, type JsonAnswer, postJson } from '../transport/get-json.ts';
import { type Authorizer, NotAuthorized, type UpstreamRoute } from '../transport/upstream-call.ts';
import { bearerOf, createRenewed, type Perishable } from './expiring-credential.ts';

/** Identity at Microsoft's Entra ID; what is absent comes from the environment, by the names of Azure's own SDKs. */
export interface EntraFacts {
  tenantId?: string | undefined;
  clientId?: string | undefined;
  clientSecret?: string | undefined;
  /** Path of a PEM file with the certificate and its private key. */
  certificateFile?: string | undefined;
  /** Scope of the token; default: the AI services of the cloud. */
  scope?: string | undefined;
  /** Default: that of the cloud. */
  authority?: string | undefined;
  /** Cloud of the service that gets the token. */
  cloud?: AzureCloud | undefined;
}

/** By the top-level domain of its services: the public one, the US government's, China's. */
export type AzureCloud = keyof typeof authorities;

const authorities = {
  com: 'https://login.microsoftonline.com',
  us: 'https://login.microsoftonline.us',
  cn: 'https://login.chinacloudapi.cn',
};

export type Env = Readonly<Record<string, string | undefined>>;

/**
 * Tokens of Entra ID for Azure's AI services, by the steps of Azure's DefaultAzureCredential that a server can take: a
 * secret or certificate of an application, a federated token (workload identity), the managed identity of the machine or
 * the app, and the Azure CLI. The first that is there decides; a failure says what each one lacked.
 */
export function entraAuthorizer(facts: EntraFacts, env: Env, clock: Clock = systemClock): Authorizer {
  let ask: Ask = () => Promise.reject(new Error('asked before a request'));
  const token = createRenewed(() => fetchToken({ ...facts, env, clock, ask: (question) => ask(question) }), clock);
  return ({ route }, transport) => {
    ask = ({ url, headers = [], form, where }) => {
      const { origin, pathname, search } = new URL(url);
      const address = { origin, path: pathname + search, route: where === 'here' ? straight : route };
      const timeoutMs = where === 'here' ? hereTimeoutMs : outsideTimeoutMs;
      if (form === undefined) return getJson(transport, { ...address, headers }, timeoutMs);
      const typed = ['content-type', 'application/x-www-form-urlencoded', ...headers];
      return postJson(transport, { ...address, headers: typed }, new URLSearchParams(form).toString(), timeoutMs);
    };
    return bearerOf(token);
  };
}

interface Question {
  url: string;
  headers?: readonly string[];
  /** Fields of a form; absent: GET. */
  form?: Readonly<Record<string, string>>;
  /** On this machine: no proxy knows the way. */
  where: 'outside' | 'here';
}
type Ask = (question: Question) => Promise<JsonAnswer>;

const straight: UpstreamRoute = { id: 'metadata', proxy: 'off', ca: undefined, cert: undefined, key: undefined };
const outsideTimeoutMs = 10_000;
/** Away from Azure nobody is at the address of the metadata service. */
const hereTimeoutMs = 2_000;

interface Seeking extends EntraFacts {
  env: Env;
  clock: Clock;
  ask: Ask;
}

/** A step has nothing to go by: the next one is tried. */
class Unavailable extends Error {}

const steps: readonly (readonly [name: string, fetch: (seeking: Seeking) => Promise<Perishable<string>>])[] = [
  ['application', ofApplication],
  ['workload identity', ofWorkload],
  ['managed identity', ofManagedIdentity],
  ['Azure CLI', ofCommandLine],
];

async function fetchToken(seeking: Seeking): Promise<Perishable<string>> {
  const { env } = seeking;
  const lacking: string[] = [];
  for (const [name, fetch] of steps) {
    try {
      return await fetch(seeking);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const why = withoutSecrets(reason, [seeking.clientSecret, env.AZURE_CLIENT_SECRET, env.IDENTITY_HEADER]);
      if (!(error instanceof Unavailable)) throw new NotAuthorized(`Entra ID gave no token to the ${name}: ${why}`);
      lacking.push(`${name}: ${why}`);
    }
  }
  throw new NotAuthorized(`no credential for Entra ID was found (${lacking.join('; ')})`);
}

/** A value that must be there: the configuration's word before the environment's. */
function needed(value: string | undefined, names: string): string {
  if (value === undefined || value.trim() === '') throw new Unavailable(`${names} is not set`);
  return value.trim();
}

async function ofApplication(seeking: Seeking): Promise<Perishable<string>> {
  const { env } = seeking;
  const secret = seeking.clientSecret ?? env.AZURE_CLIENT_SECRET;
  const file = seeking.certificateFile ?? env.AZURE_CLIENT_CERTIFICATE_PATH;
  if (!secret && !file) throw new Unavailable('neither a client secret nor a certificate is set');
  const { clientId, tokenUrl } = application(seeking);
  if (secret) return exchange(seeking, { client_secret: secret });
  const pem = await readText(file!, 'the certificate');
  return exchange(seeking, asserted(clientAssertion(pem, { clientId, tokenUrl, nowMs: seeking.clock.wallMs() })));
}

async function ofWorkload(seeking: Seeking): Promise<Perishable<string>> {
  const file = needed(seeking.env.AZURE_FEDERATED_TOKEN_FILE, 'AZURE_FEDERATED_TOKEN_FILE');
  // Kubernetes writes it anew every hour.
  const token = await readText(file, 'the federated token');
  return exchange(seeking, asserted(token.trim()));
}

function asserted(assertion: string): Record<string, string> {
  return {
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: assertion,
  };
}

function application({ env, ...facts }: Seeking): { clientId: string; tokenUrl: string } {
  const clientId = needed(facts.clientId ?? env.AZURE_CLIENT_ID, 'AZURE_CLIENT_ID');
  const tenantId = needed(facts.tenantId ?? env.AZURE_TENANT_ID, 'AZURE_TENANT_ID');
  const authority = facts.authority ?? env.AZURE_AUTHORITY_HOST ?? authorities[facts.cloud ?? 'com'];
  const tokenUrl = `${authority.replace(/\/+$/, '')}/${encodeURIComponent(tenantId)}/oauth2/v2.0/token`;
  return { clientId, tokenUrl };
}

/** https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow */
async function exchange(seeking: Seeking, proof: Record<string, string>): Promise<Perishable<string>> {
  const { clientId, tokenUrl } = application(seeking);
  const form = { grant_type: 'client_credentials', client_id: clientId, scope: scopeOf(seeking), ...proof };
  return tokenIn(await seeking.ask({ url: tokenUrl, form, where: 'outside' }), seeking.clock);
}

function scopeOf({ scope, cloud = 'com' }: Seeking): string {
  return scope ?? `https://cognitiveservices.azure.${cloud}/.default`;
}

/**
 * https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token, and
 * …/app-service/overview-managed-identity, whose address and header are in the environment of an app.
 */
async function ofManagedIdentity(seeking: Seeking): Promise<Perishable<string>> {
  const { env, ask, clock } = seeking;
  const { IDENTITY_ENDPOINT: endpoint, IDENTITY_HEADER: header } = env;
  const query = new URLSearchParams({ resource: scopeOf(seeking).replace(/\/\.default$/, '') });
  const clientId = seeking.clientId ?? env.AZURE_CLIENT_ID;
  if (clientId) query.set('client_id', clientId);
  if (endpoint && header) {
    query.set('api-version', '2019-08-01');
    return tokenIn(
      await ask({ url: `${endpoint}?${query}`, headers: ['x-identity-header', header], where: 'here' }),
      clock,
    );
  }
  query.set('api-version', '2018-02-01');
  const host = (env.AZURE_POD_IDENTITY_AUTHORITY_HOST ?? 'http://169.254.169.254').replace(/\/+$/, '');
  const url = `${host}/metadata/identity/oauth2/token?${query}`;
  const answer = await ask({ url, headers: ['metadata', 'true'], where: 'here' }).catch(() => null);
  if (answer === null) throw new Unavailable('the metadata service did not answer');
  // So it answers a machine without an identity.
  if (answer.status === 400 || answer.status === 404) throw new Unavailable(reasonIn(answer));
  return tokenIn(answer, clock);
}

const commandTimeoutMs = 15_000;

async function ofCommandLine(seeking: Seeking): Promise<Perishable<string>> {
  const { execFile } = await import('node:child_process');
  const words = ['account', 'get-access-token', '--output', 'json', '--scope', scopeOf(seeking)];
  const tenantId = seeking.tenantId ?? seeking.env.AZURE_TENANT_ID;
  if (tenantId) words.push('--tenant', tenantId);
  const output = await new Promise<string>((resolve, reject) => {
    execFile('az', words, { timeout: commandTimeoutMs, env: { ...seeking.env } }, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(new Unavailable(error.code === 'ENOENT' ? 'az is not installed' : 'az has no login (az login)'));
    });
  });
  const parsed: unknown = JSON.parse(output);
  if (!isObject(parsed) || typeof parsed.accessToken !== 'string') throw new Unavailable('az gave no token');
  // Older versions tell the time without its zone only.
  const expiresAtMs =
    typeof parsed.expires_on === 'number' ? parsed.expires_on * 1_000 : Date.parse(String(parsed.expiresOn));
  return { value: parsed.accessToken, expiresAtMs };
}

function tokenIn(answer: JsonAnswer, clock: Clock): Perishable<string> {
  const { status, body } = answer;
  if (status !== 200 || !isObject(body) || typeof body.access_token !== 'string') throw new Error(reasonIn(answer));
  return { value: body.access_token, expiresAtMs: clock.wallMs() + lifetimeMs(body, clock) };
}

/** The metadata services write numbers as text, and App Service the time alone. */
function lifetimeMs({ expires_in: inS, expires_on: atS }: JsonObject, clock: Clock): number {
  if (inS !== undefined && Number.isFinite(Number(inS))) return Number(inS) * 1_000;
  return Number.isFinite(Number(atS)) ? Number(atS) * 1_000 - clock.wallMs() : usualLifetimeMs;
}
const usualLifetimeMs = 3_600_000;

/** The first sentence of its description: the ids behind it help nobody who reads a reason. */
function reasonIn({ status, body }: JsonAnswer): string {
  const text = isObject(body) ? (body.error_description ?? body.message ?? body.error) : undefined;
  if (typeof text !== 'string' || text === '') return `it answered ${status}`;
  const [sentence = ''] = text.split(/\r?\n| Trace ID:/, 1);
  return `it answered ${status}: ${sentence.slice(0, 300)}`;
}

async function readText(file: string, what: string): Promise<string> {
  const { readFile } = await import('node:fs/promises');
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${what} cannot be read (${error.code})`);
  });
}

const lifetimeS = 600;

/**
 * The token by which an application shows Entra ID that it has the private key of its certificate.
 * https://learn.microsoft.com/entra/identity-platform/certificate-credentials. `pem` holds both. Throws where it does not.
 */
function clientAssertion(
  pem: string,
  { clientId, tokenUrl, nowMs }: { clientId: string; tokenUrl: string; nowMs: number },
): string {
  const { certificate, key } = readPem(pem);
  const nowS = Math.floor(nowMs / 1_000);
  const head = {
    alg: 'PS256',
    typ: 'JWT',
    'x5t#S256': createHash('sha256').update(certificate.raw).digest('base64url'),
  };
  const claims = { aud: tokenUrl, iss: clientId, sub: clientId, jti: randomUUID(), nbf: nowS, exp: nowS + lifetimeS };
  const signed = [head, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  const padding = constants.RSA_PKCS1_PSS_PADDING;
  const signature = sign('sha256', Buffer.from(signed), { key, padding, saltLength: constants.RSA_PSS_SALTLEN_DIGEST });
  return `${signed}.${signature.toString('base64url')}`;
}

function readPem(pem: string) {
  try {
    return { certificate: new X509Certificate(pem), key: createPrivateKey(pem) };
  } catch {
    throw new Error('the certificate is no PEM file with a certificate and its private key');
  }
}

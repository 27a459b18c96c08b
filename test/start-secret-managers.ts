import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SignatureV4 } from '@smithy/signature-v4';
import type { Lifetime } from './start-process.ts';

/** AWS's example keys: good for nothing. */
const awsKeys = { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' };

/** The APIs of Vault, AWS, Google and Azure for reading a secret, as their documentation has them. */
export interface SecretManagers {
  /** Secrets by `vault:PATH`, `aws:ID`, `gcp:NAME`, `azure:NAME`. A number: that status is answered. */
  secrets: Map<string, string | Record<string, unknown> | number>;
  /** How often each was read. */
  reads: Map<string, number>;
  logins: number;
  /** Scopes of the tokens that Entra ID gave. */
  scopes: Set<string>;
  /** The environment that leads their clients here. */
  env: Record<string, string>;
}

export async function startSecretManagers(t: Lifetime): Promise<SecretManagers> {
  const managers: SecretManagers = { secrets: new Map(), reads: new Map(), logins: 0, scopes: new Set(), env: {} };
  const server = createServer((request, response) => {
    void answer(managers, request).then(([status, body]) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  managers.env = {
    VAULT_ADDR: url,
    VAULT_ROLE_ID: 'culvert',
    VAULT_SECRET_ID: 'a-secret-id',
    AWS_ENDPOINT_URL_SECRETS_MANAGER: url,
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: awsKeys.accessKeyId,
    AWS_SECRET_ACCESS_KEY: awsKeys.secretAccessKey,
    CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER: url,
    AZURE_KEY_VAULT_URL: url,
    AZURE_AUTHORITY_HOST: url,
    AZURE_TENANT_ID: 'tenant',
    AZURE_CLIENT_ID: 'client',
    AZURE_CLIENT_SECRET: 'client-secret',
  };
  return managers;
}

type Answer = [status: number, body: unknown];

async function answer(managers: SecretManagers, request: IncomingMessage): Promise<Answer> {
  const body = Buffer.concat(await request.toArray()).toString('utf8');
  const { pathname } = new URL(request.url ?? '/', 'http://localhost');
  if (pathname === '/v1/auth/approle/login') {
    managers.logins += 1;
    const { role_id: role, secret_id: secret } = JSON.parse(body) as Record<string, string>;
    if (role !== 'culvert' || secret !== 'a-secret-id') return [400, { errors: ['invalid role or secret ID'] }];
    // It does not end.
    return [200, { auth: { client_token: 'hvs.token', lease_duration: 0 } }];
  }
  if (pathname === '/v1/auth/kubernetes/login') {
    managers.logins += 1;
    const { role, jwt } = JSON.parse(body) as Record<string, string>;
    if (role !== 'culvert' || jwt !== 'a-pod-token') return [403, { errors: ['permission denied'] }];
    return [200, { auth: { client_token: 'hvs.token', lease_duration: 3_600 } }];
  }
  if (pathname === '/tenant/oauth2/v2.0/token') {
    managers.logins += 1;
    const scope = new URLSearchParams(body).get('scope');
    if (!/^https:\/\/vault\.(azure\.net|azure\.cn|usgovcloudapi\.net)\/\.default$/.test(`${scope}`))
      return [400, { error: 'invalid_scope' }];
    managers.scopes.add(`${scope}`);
    return [200, { access_token: 'entra-token', expires_in: 3_600, token_type: 'Bearer' }];
  }
  if (request.headers['x-amz-target'] === 'secretsmanager.GetSecretValue') {
    if (!(await isSigned(request, body))) return [400, { __type: 'InvalidSignatureException' }];
    const { SecretId: id } = JSON.parse(body) as { SecretId: string };
    const read = look(managers, `aws:${id}`);
    return typeof read === 'number' ? [read, { __type: 'AccessDeniedException', Message: 'no' }] : [200, textual(read)];
  }
  const google = /^\/v1\/(projects\/[^/]+\/secrets\/[^/]+)\/versions\/latest:access$/.exec(pathname)?.[1];
  if (google !== undefined) {
    if (!/^Bearer eyJ/.test(request.headers.authorization ?? '')) return [401, { error: { message: 'no token' } }];
    const read = look(managers, `gcp:${google}`);
    if (typeof read === 'number') return [read, { error: { message: 'no' } }];
    return [200, { payload: { data: Buffer.from(textual(read).SecretString).toString('base64') } }];
  }
  const azure = /^\/secrets\/([\w-]+)$/.exec(pathname)?.[1];
  if (azure !== undefined) {
    if (request.headers.authorization !== 'Bearer entra-token') return [401, { error: { message: 'no token' } }];
    const read = look(managers, `azure:${azure}`);
    return typeof read === 'number'
      ? [read, { error: { message: 'no' } }]
      : [200, { value: textual(read).SecretString, attributes: {} }];
  }
  const vault = /^\/v1\/(.+)$/.exec(pathname)?.[1];
  if (vault === undefined) return [404, {}];
  if (request.headers['x-vault-token'] !== 'hvs.token') return [403, { errors: ['permission denied'] }];
  const read = look(managers, `vault:${vault}`);
  if (typeof read === 'number') return [read, { errors: ['permission denied'] }];
  return [200, read];
}

function look({ secrets, reads }: SecretManagers, name: string): string | Record<string, unknown> | number {
  reads.set(name, (reads.get(name) ?? 0) + 1);
  return secrets.get(name) ?? 404;
}

function textual(read: string | Record<string, unknown>): { SecretString: string } {
  return { SecretString: typeof read === 'string' ? read : JSON.stringify(read) };
}

/** Whether AWS's own signer makes the same signature. */
async function isSigned({ headers }: IncomingMessage, body: string): Promise<boolean> {
  const sent = headers.authorization ?? '';
  const [, scope = ''] = /Credential=[^/]+\/([^,]+),/.exec(sent) ?? [];
  const [, region = '', service = ''] = scope.split('/');
  const names = /SignedHeaders=([^,]+),/.exec(sent)?.[1]?.split(';') ?? [];
  const signer = new SignatureV4({
    credentials: awsKeys,
    region,
    service,
    sha256: Sha256,
    applyChecksum: false,
  });
  const stamp = String(headers['x-amz-date']).replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z');
  const signed = await signer.sign(
    {
      protocol: 'http:',
      hostname: '127.0.0.1',
      method: 'POST',
      path: '/',
      query: {},
      headers: Object.fromEntries(
        names.filter((name) => name !== 'x-amz-date').map((name) => [name, String(headers[name])]),
      ),
      body,
    },
    { signingDate: new Date(stamp) },
  );
  return service === 'secretsmanager' && signed.headers.authorization === sent;
}

class Sha256 {
  readonly #hash;
  constructor(secret?: unknown) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', secret as Buffer);
  }
  update(data: string | Buffer) {
    this.#hash.update(data);
  }
  digest() {
    return Promise.resolve(new Uint8Array(this.#hash.digest()));
  }
  reset() {}
}

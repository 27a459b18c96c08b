import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../kernel/clock.ts';
import { isObject, type JsonObject, objectIn } from '../../../kernel/json.ts';
import { getJson, type JsonAnswer, postJson } from '../../transport/get-json.ts';
import type { UpstreamRoute } from '../../transport/upstream-call.ts';
import { createRenewed, type Perishable } from '../expiring-credential.ts';
import {
  type ManagerParts,
  managerTimeoutMs,
  type ReadSecret,
  refusedBy,
  type SecretReader,
  SecretUnread,
} from './secret-manager.ts';

const localAddress = 'https://127.0.0.1:8200';
const serviceAccountToken = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/**
 * Secrets of HashiCorp Vault or OpenBao by the path of their API, such as `secret/data/openai`. It logs in by AppRole or by
 * the service account of a pod, or uses a token (https://developer.hashicorp.com/vault/api-docs).
 */
export function vaultReader({ env, transport }: ManagerParts): SecretReader {
  const { VAULT_ADDR: address = localAddress, VAULT_NAMESPACE: namespace } = env;
  if (!URL.canParse(address)) throw new SecretUnread('VAULT_ADDR is not a URL');
  const { origin, pathname } = new URL(address);
  const common = namespace === undefined ? [] : ['x-vault-namespace', namespace];

  async function ask(path: string, headers: readonly string[], body: object | null): Promise<JsonAnswer> {
    const to = {
      origin,
      path: `${pathname.replace(/\/$/, '')}/v1/${path}`,
      route: await routeTo(env.VAULT_CACERT),
      headers: [...common, ...headers],
    };
    if (body === null) return getJson(transport, to, managerTimeoutMs);
    const typed = { ...to, headers: [...to.headers, 'content-type', 'application/json'] };
    return postJson(transport, typed, JSON.stringify(body), managerTimeoutMs);
  }
  const login = () =>
    createRenewed(() => logIn(env, (path, body, headers = []) => ask(path, headers, body)), systemClock);
  let token = login();

  return async (path) => {
    if (!/^[\w-]+(?:\/[\w.@+ -]+)+$/.test(path)) {
      throw new SecretUnread("the path is not one of Vault's API, such as secret/data/openai");
    }
    const read = async () => ask(encodeURI(path), ['x-vault-token', await token.get()], null);
    const before = token;
    let answer = await read();
    // A login may be revoked before its lease ends.
    if (answer.status === 403 && !env.VAULT_TOKEN) {
      if (token === before) token = login();
      answer = await read();
    }
    if (answer.status !== 200 || !isObject(answer.body)) throw explained(answer, path);
    return secretIn(answer.body);
  };
}

/** Version 2 of the key-value engine puts the members one level deeper. */
function secretIn(body: JsonObject): ReadSecret {
  const { data, lease_id: lease, lease_duration: seconds } = body;
  if (!isObject(data)) throw new SecretUnread('Vault answered without data');
  const members = isObject(data.data) && isObject(data.metadata) ? data.data : data;
  // Without a lease the duration only says how often to look.
  const lasts = typeof lease === 'string' && lease !== '' && typeof seconds === 'number' && seconds > 0;
  return { value: members, lastsMs: lasts ? seconds * 1_000 : null, leased: lasts };
}

function explained(answer: JsonAnswer, path: string): SecretUnread {
  if (answer.status !== 404) return refusedBy('Vault', answer);
  const [engine, ...rest] = path.split('/');
  const hint = rest[0] === 'data' ? '' : `; version 2 of its key-value engine needs ${engine}/data/${rest.join('/')}`;
  return new SecretUnread(`Vault has no such secret${hint}`);
}

type Post = (path: string, body: object, headers?: readonly string[]) => Promise<JsonAnswer>;

async function logIn(env: ManagerParts['env'], post: Post): Promise<Perishable<string>> {
  const { VAULT_TOKEN: token, VAULT_ROLE_ID: role, VAULT_SECRET_ID: secret, VAULT_K8S_ROLE: podRole } = env;
  if (token) return renewedToken(token, post);
  if (role) {
    const mount = env.VAULT_APPROLE_MOUNT || 'approle';
    return tokenIn(await post(`auth/${mount}/login`, { role_id: role, ...(secret && { secret_id: secret }) }));
  }
  if (podRole) {
    const jwt = (await readFile(env.VAULT_K8S_TOKEN_FILE || serviceAccountToken, 'utf8').catch(unreadable)).trim();
    return tokenIn(await post(`auth/${env.VAULT_K8S_MOUNT || 'kubernetes'}/login`, { role: podRole, jwt }));
  }
  // What `vault login` writes, and an agent anew: it is read each time.
  const tokenFile = await readFile(join(env.HOME || homedir(), '.vault-token'), 'utf8').catch(() => '');
  if (tokenFile.trim() !== '') return { value: tokenFile.trim(), expiresAtMs: 0 };
  throw new SecretUnread(
    'there is no login for Vault: set VAULT_TOKEN, VAULT_ROLE_ID and VAULT_SECRET_ID, or VAULT_K8S_ROLE',
  );
}

const lookAgainMs = 5 * 60_000;

/** The token, renewed: Vault ends it when its lease is over. Those that cannot be renewed are used as they are. */
async function renewedToken(token: string, post: Post): Promise<Perishable<string>> {
  const { status, body } = await post('auth/token/renew-self', {}, ['x-vault-token', token]);
  if (status >= 500) return { value: token, expiresAtMs: systemClock.wallMs() + lookAgainMs };
  const { lease_duration: seconds } = objectIn(objectIn(body).auth);
  const isLeased = status === 200 && typeof seconds === 'number' && seconds > 0;
  // Secrets are read every few minutes: at half of it there is still time.
  return { value: token, expiresAtMs: isLeased ? systemClock.wallMs() + seconds * 500 : null };
}

function unreadable(error: unknown): never {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  throw new SecretUnread(`the token of the pod's service account cannot be read (${code})`);
}

function tokenIn(answer: JsonAnswer): Perishable<string> {
  const { auth } = objectIn(answer.body);
  const { client_token: token, lease_duration: seconds } = objectIn(auth);
  if (answer.status !== 200 || typeof token !== 'string') throw refusedBy('the login at Vault', answer);
  const lasts = typeof seconds === 'number' && seconds > 0;
  return { value: token, expiresAtMs: lasts ? systemClock.wallMs() + seconds * 1_000 : null };
}

async function routeTo(certificates: string | undefined): Promise<UpstreamRoute | undefined> {
  if (!certificates) return undefined;
  const ca = await readFile(certificates, 'utf8').catch(() => {
    throw new SecretUnread('the file that VAULT_CACERT names cannot be read');
  });
  return { id: 'vault', proxy: 'environment', ca, cert: undefined, key: undefined };
}

import { objectIn } from '../../../kernel/json.ts';
import { getJson } from '../../transport/get-json.ts';
import type { Authorizer } from '../../transport/upstream-call.ts';
import { entraAuthorizer } from '../entra.ts';
import { type ManagerParts, managerTimeoutMs, refusedBy, type SecretReader, SecretUnread } from './secret-manager.ts';

const form = /^(?:([\w.-]+)\/)?([\w-]+?)(?:\/(\w{32}))?$/;

/**
 * Secrets of Azure Key Vault as `VAULT/NAME`, `VAULT/NAME/VERSION`, or `NAME` in the vault of `AZURE_KEY_VAULT_URL`. The
 * identity is Entra ID's, as for azure-openai
 * (https://learn.microsoft.com/rest/api/keyvault/secrets/get-secret/get-secret).
 */
export function azureReader({ env, transport }: ManagerParts): SecretReader {
  const usual = domainOf(env.AZURE_AUTHORITY_HOST ?? '');
  const authorizers = new Map<string, Authorizer>();
  const authorizerOf = ({ hostname }: URL): Authorizer => {
    const domain = /\.(vault\.(?:azure\.(?:net|cn)|usgovcloudapi\.net))$/.exec(hostname)?.[1] ?? usual;
    const known = authorizers.get(domain) ?? entraAuthorizer({ scope: `https://${domain}/.default` }, env);
    authorizers.set(domain, known);
    return known;
  };
  return async (path) => {
    const [, vault, name, version] = form.exec(path) ?? [];
    if (name === undefined) throw new SecretUnread('the name is not that of a secret, such as my-vault/openai');
    const address =
      vault === undefined ? env.AZURE_KEY_VAULT_URL : `https://${vault.includes('.') ? vault : `${vault}.${usual}`}`;
    if (!address || !URL.canParse(address)) {
      throw new SecretUnread(`write VAULT/${name}, or set AZURE_KEY_VAULT_URL to the address of the vault`);
    }
    const steps = version === undefined ? name : `${name}/${version}`;
    const to = {
      origin: new URL(address).origin,
      path: `/secrets/${steps}?api-version=7.4`,
      headers: ['accept', 'application/json'],
      authorize: authorizerOf(new URL(address)),
    };
    const answer = await getJson(transport, to, managerTimeoutMs);
    const { value, attributes } = objectIn(answer.body);
    if (answer.status !== 200 || typeof value !== 'string') throw refusedBy('Azure Key Vault', answer);
    const { exp } = objectIn(attributes);
    const lastsMs = typeof exp === 'number' ? exp * 1_000 - Date.now() : 0;
    // The vault gives it after its end, too.
    return { value, lastsMs: lastsMs > 0 ? lastsMs : null };
  };
}

/** Domain of the vaults of a cloud, by its authority: the US government's, China's or the public one. */
function domainOf(authority: string): string {
  if (authority.includes('microsoftonline.us')) return 'vault.usgovcloudapi.net';
  return /\.cn\b/.test(authority) ? 'vault.azure.cn' : 'vault.azure.net';
}

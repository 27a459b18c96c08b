import { objectIn } from '../../../kernel/json.ts';
import { getJson } from '../../transport/get-json.ts';
import { entraAuthorizer } from '../entra.ts';
import { type ManagerParts, managerTimeoutMs, refusedBy, type SecretReader, SecretUnread } from './secret-manager.ts';

const form = /^(?:([\w.-]+)\/)?([\w-]+?)(?:\/(\w{32}))?$/;

/**
 * Secrets of Azure Key Vault as `VAULT/NAME`, `VAULT/NAME/VERSION`, or `NAME` in the vault of `AZURE_KEY_VAULT_URL`. The
 * identity is Entra ID's, as for azure-openai
 * (https://learn.microsoft.com/rest/api/keyvault/secrets/get-secret/get-secret).
 */
export function azureReader({ env, transport }: ManagerParts): SecretReader {
  const authorize = entraAuthorizer({ scope: 'https://vault.azure.net/.default' }, env);
  return async (path) => {
    const [, vault, name, version] = form.exec(path) ?? [];
    if (name === undefined) throw new SecretUnread('the name is not that of a secret, such as my-vault/openai');
    const address = vault === undefined ? env.AZURE_KEY_VAULT_URL : addressOf(vault);
    if (!address || !URL.canParse(address)) {
      throw new SecretUnread(`write VAULT/${name}, or set AZURE_KEY_VAULT_URL to the address of the vault`);
    }
    const steps = version === undefined ? name : `${name}/${version}`;
    const to = {
      origin: new URL(address).origin,
      path: `/secrets/${steps}?api-version=7.4`,
      headers: ['accept', 'application/json'],
      authorize,
    };
    const answer = await getJson(transport, to, managerTimeoutMs);
    const { value, attributes } = objectIn(answer.body);
    if (answer.status !== 200 || typeof value !== 'string') throw refusedBy('Azure Key Vault', answer);
    const { exp } = objectIn(attributes);
    return { value, lastsMs: typeof exp === 'number' ? Math.max(0, exp * 1_000 - Date.now()) : null };
  };
}

function addressOf(vault: string): string {
  return `https://${vault.includes('.') ? vault : `${vault}.vault.azure.net`}`;
}

import type { ProviderConfig } from '../../config/schema.ts';
import { entraAuthorizer } from '../credentials/entra.ts';
import type { Provider } from '../providers/provider.ts';
import type { Authorizer } from '../transport/upstream-call.ts';

/** By who asks: a reload, and every look at the lists of models, goes on with the tokens that are held. */
const held = new Map<string, Authorizer>();
const heldMax = 1_000;

/**
 * What proves who asks where a header of a fixed value does not; undefined: the secret is such a header, or nothing is.
 * A token of this machine goes to the issuer's own services, or where the configuration names the issuer: whoever may
 * set a provider's address cannot have it sent there.
 */
export function authorizerFor(
  { tokens }: Provider,
  { base_url: baseUrl, entra, proxy, tls }: ProviderConfig,
  secret: string | null,
): Authorizer | undefined {
  if (tokens === undefined || secret !== null) return undefined;
  const { protocol, hostname } = new URL(baseUrl ?? 'https://nowhere.invalid');
  const usual = protocol === 'https:' && tokens.hosts.test(hostname) && proxy === undefined && tls === undefined;
  if (entra === undefined && !usual) return undefined;
  return once(['entra', entra], () =>
    entraAuthorizer(
      {
        tenantId: entra?.tenant_id,
        clientId: entra?.client_id,
        clientSecret: entra?.client_secret,
        certificateFile: entra?.certificate_file,
        scope: entra?.scope,
        authority: entra?.authority,
      },
      process.env,
    ),
  );
}

function once(who: unknown, make: () => Authorizer): Authorizer {
  const key = JSON.stringify(who);
  let authorizer = held.get(key);
  if (authorizer === undefined) {
    if (held.size >= heldMax) held.clear();
    authorizer = make();
    held.set(key, authorizer);
  }
  return authorizer;
}

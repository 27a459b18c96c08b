import { credentialsOf } from '../../config/declared.ts';
import type { Config, ProviderConfig } from '../../config/schema.ts';
import { withCallersCredential } from '../../formats/providers/callers-credential.ts';
import { providerTypes } from '../../formats/providers/catalog.ts';
import type { Provider } from '../../formats/providers/provider.ts';
import {
  type ConnectionFacts,
  createConnection,
  type ProviderConnection,
} from '../../formats/providers/provider-connection.ts';
import { createRoute } from '../../upstream/transport/network-route.ts';
import { type Authorizer, NotAuthorized } from '../../upstream/transport/upstream-call.ts';
import { authorizerFor, regionOf } from './authorizer-for.ts';

/** Prefix of keys that another Culvert has issued. */
const gatewayKeyPrefix = 'sk-cv-';

/** A provider as configured and as it is called. */
export interface ConfiguredProvider {
  connection: ProviderConnection;
  config: ProviderConfig;
  /** The zero-key simulator, not something an operator configured. */
  simulated: boolean;
}

/** Whether a target takes conversations. */
export function chats(providers: ReadonlyMap<string, ConfiguredProvider>, target: { provider: string }): boolean {
  return providers.get(target.provider)?.connection.chats === true;
}

/**
 * Every provider of a configuration, ready to be called. Those that cannot be (a base URL that is none, a type whose
 * part is not built) are left out and listed in `problems`. `simulator` names the one that is the zero-key simulator.
 */
export function connectProviders(
  providers: Config['providers'],
  simulator: string | null,
): { connected: Map<string, ConfiguredProvider>; problems: string[] } {
  const connected = new Map<string, ConfiguredProvider>();
  const problems: string[] = [];
  for (const [name, config] of Object.entries(providers)) {
    const provider = providerTypes.get(config.type);
    if (provider === undefined) {
      problems.push(`providers.${name}: type ${config.type} is not part of this version`);
      continue;
    }
    const { ca, cert, key } = config.tls ?? {};
    const way = createRoute({ proxy: config.proxy, ca, cert, key, http2: config.http2 });
    if (!way.ok) {
      problems.push(`provider ${name}: ${way.message}`);
      continue;
    }
    const credentials = credentialsOf(config);
    const made = createConnection({
      name,
      provider,
      route: way.route,
      baseUrl: config.base_url ?? null,
      secrets: credentials.map((credential) => credential.api_key),
      authorizerOf: (secret) =>
        config.caller_credential ? withoutCaller(name) : authorizerFor(provider, config, secret),
      credential: config.caller_credential ? 'caller' : 'configured',
      ids: credentials.map(({ id }) => id),
      headers: config.headers,
      apiVersion: config.api_version ?? null,
      ...placeIn(provider, config),
      dialects: config.dialects ?? null,
      serverTools: config.server_tools ?? null,
      batches: config.batches,
      traced: config.trace ?? credentials.some(({ api_key }) => api_key.startsWith(gatewayKeyPrefix)),
    });
    if (made.ok) connected.set(name, { connection: made.connection, config, simulated: name === simulator });
    else problems.push(made.message);
  }
  return { connected, problems };
}

/** The provider with the credential that these headers of a request bring; as it is where they bring none. */
export function asCaller(
  provider: ConfiguredProvider,
  headers: Readonly<Record<string, string | string[] | undefined>>,
): ConfiguredProvider {
  const connection = withCallersCredential(provider.connection, headers);
  return connection === null ? provider : { ...provider, connection };
}

/** Refusal of requests without a caller, who has the credential: nothing is sent. */
function withoutCaller(name: string): Authorizer {
  return () => {
    throw new NotAuthorized(`provider ${name} takes the caller's own credential, and this request has none`);
  };
}

/** The configuration's word, else the environment's by the names of the vendors' own SDKs. */
function placeIn({ tokens, regional }: Provider, config: ProviderConfig): Pick<ConnectionFacts, 'region' | 'project'> {
  const { env } = process;
  const { region, project } = config;
  if (regional !== undefined) return { region: regionOf(config), project };
  if (tokens?.id !== 'google') return { region, project };
  return {
    region: region ?? (env.GOOGLE_CLOUD_LOCATION || env.CLOUD_ML_REGION || null),
    project: project ?? (env.GOOGLE_CLOUD_PROJECT || env.ANTHROPIC_VERTEX_PROJECT_ID || null),
  };
}

import type { Config, ProviderConfig } from '../../config/schema.ts';
import { providerOf } from '../providers/catalog.ts';
import { createConnection, type ProviderConnection } from '../providers/connection.ts';
import type { ScrubKnown } from '../providers/scrub.ts';

/** A provider as configured and as it is called. */
export interface ConfiguredProvider {
  connection: ProviderConnection;
  config: ProviderConfig;
  /** What no message of this upstream may tell. */
  secrets: ScrubKnown;
  /** The zero-key simulator, not something an operator configured. */
  simulated: boolean;
}

/**
 * Every provider of a configuration, ready to be called. Those that cannot be (a base URL that is none, a type whose
 * part is not built) are left out and said in `problems`.
 */
export function connectProviders(providers: Config['providers']): {
  connected: Map<string, ConfiguredProvider>;
  problems: string[];
} {
  const connected = new Map<string, ConfiguredProvider>();
  const problems: string[] = [];
  for (const [name, config] of Object.entries(providers)) {
    const provider = providerOf(config.type);
    if (provider === undefined) {
      problems.push(`providers.${name}: type ${config.type} is not part of this version`);
      continue;
    }
    const made = createConnection({
      name,
      provider,
      baseUrl: config.base_url ?? null,
      secrets: secretsOf(config),
      headers: config.headers,
      apiVersion: config.api_version ?? null,
    });
    if (made.ok) connected.set(name, configured(made.connection, config, 'configured'));
    else problems.push(made.message);
  }
  return { connected, problems };
}

export function configured(
  connection: ProviderConnection,
  config: ProviderConfig,
  origin: 'configured' | 'simulator',
): ConfiguredProvider {
  const { host, hostname } = new URL(connection.origin);
  return {
    connection,
    config,
    // An operator's own headers may hold a secret as well.
    secrets: { secrets: [...secretsOf(config), ...Object.values(config.headers)], hosts: [host, hostname] },
    simulated: origin === 'simulator',
  };
}

function secretsOf(config: ProviderConfig): string[] {
  if (config.credentials !== undefined) return config.credentials.map((credential) => credential.api_key);
  return config.api_key === undefined ? [] : [config.api_key];
}

import { providersInEnvironment } from '../formats/providers/catalog.ts';
import type { Env } from './environment.ts';
import { type Config, configSchema } from './schema.ts';

/** The file's providers; where it names none, one for each known key in the environment. */
export function namedProviders(config: Config, env: Env): Config['providers'] {
  if (Object.keys(config.providers).length > 0) return { ...config.providers };
  return builtProviders(
    Object.fromEntries(
      providersInEnvironment(env).map(({ id, envKey }) => [id, { type: id, api_key: env[envKey ?? '']?.trim() }]),
    ),
  );
}

/** Providers of our own making, with every default filled in. */
export function builtProviders(providers: Record<string, unknown>): Config['providers'] {
  return configSchema.shape.providers.parse(providers, { jitless: true });
}

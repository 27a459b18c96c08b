import { type Config, configSchema } from './schema.ts';

/**
 * The configuration of an empty file: loopback, ./.culvert, no configured providers. Each call returns a new object.
 */
export function zeroConfig(): Config {
  return configSchema.parse({}, { jitless: true });
}

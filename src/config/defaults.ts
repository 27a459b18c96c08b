import { type Config, configSchema } from './schema.ts';

/** The configuration of an empty file: loopback, ./.culvert, no configured providers. A new object for each call. */
export function zeroConfig(): Config {
  return configSchema.parse({}, { jitless: true });
}

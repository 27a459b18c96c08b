import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Loads a module of ours where it is used first, without a promise: for packages that few need, in code that cannot
 * wait. `url` is `new URL('./NAME.ts', import.meta.url)`, written so in the call, which is how a build finds it.
 */
export function requireNow<Module>(url: URL): Module {
  return createRequire(url)(fileURLToPath(url)) as Module;
}

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Loads a module of ours where it is used first, without a promise: for packages that few need, in code that cannot
 * wait. A call names the file by a URL with `import.meta.url`, and its type in angle brackets: a build finds it so.
 */
export function requireNow<Module>(url: URL): Module {
  return createRequire(url)(fileURLToPath(url)) as Module;
}

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageName } from './command-form.ts';

/** Whether an optional peer is installed with Culvert and could be loaded. Only looks for files. */
export function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    return false;
  }
}

/** Command that installs an optional peer where the Culvert at `program` finds it, as words after "Run". */
export function installCommand(name: string, program = fileURLToPath(import.meta.url)): string {
  const [place = '', ...rest] = program.replaceAll('\\', '/').split(`/node_modules/${packageName}/`);
  if (rest.length === 0) return `npm install ${name}, next to Culvert`;
  if (place.includes('/_npx/')) return `npx --package ${packageName} --package ${name} culvert`;
  // Packages of a project have its package.json next to their folder; global ones have none.
  return existsSync(join(place, 'package.json')) ? `npm install ${name} in ${place}` : `npm install --global ${name}`;
}

import { globSync } from 'node:fs';

/** Files that uploads have left in a data folder; each worker of a gateway has a folder of its own for them. */
export function spooledIn(dataDir: string): string[] {
  return globSync('spool*/*', { cwd: dataDir });
}

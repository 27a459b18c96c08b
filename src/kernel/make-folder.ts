import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder, 0700, and those above it that do not exist. Throws the file system's error. Node's `recursive` never
 * returns where a folder exists and says ENOENT for each new one, as `/proc` and links to nowhere do.
 */
export function makeFolder(path: string): void {
  const missing: string[] = [];
  for (let at = path; !existsSync(at) && at !== dirname(at); at = dirname(at)) missing.unshift(at);
  // It exists, unless it is a file: node says which.
  if (missing.length === 0) mkdirSync(path, { recursive: true });
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch (error) {
      // Another process may have made it meanwhile.
      if (!existsSync(folder)) throw error;
    }
  }
}

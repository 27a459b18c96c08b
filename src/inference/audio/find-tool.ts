import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** Where the program `name` is, looked up in the folders of `searchPath` (written as PATH is); null: not installed. */
export function findTool(name: string, searchPath: string): string | null {
  for (const folder of searchPath.split(delimiter)) {
    // A relative folder would make what is run depend on where the gateway was started.
    if (!isAbsolute(folder)) continue;
    const file = join(folder, name);
    try {
      accessSync(file, constants.X_OK);
      if (statSync(file).isFile()) return file;
    } catch {
      // Not in this folder.
    }
  }
  return null;
}

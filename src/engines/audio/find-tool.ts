import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** Path of the program `name` in the folders of `searchPath` (written as PATH); null: not installed. */
export function findTool(name: string, searchPath: string): string | null {
  for (const folder of searchPath.split(delimiter)) {
    // With a relative folder, the program would depend on where the gateway was started.
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

import type { Entered } from './count-entered.ts';
import { countedBy } from './counted-by.ts';
import { gate } from './ratchet.ts';

/*
 * A feature that a request does not use must not be entered: files and functions that plain requests enter in the
 * gateway's thread. `npm run bench -- path --functions` names the functions.
 */

let counted: Promise<Record<string, Entered>> | null = null;

/** Once for all gates of this file. */
function count(): Promise<Record<string, Entered>> {
  counted ??= countedBy('./count-entered.ts');
  return counted;
}

for (const kind of ['streamed converted chat', 'same-format chat', 'embedding', 'vector search']) {
  gate(
    kind,
    async () => (await count())[kind]!,
    { files: ({ files }) => files.length, functions: ({ functions }) => functions.length },
    { files: ({ files }) => byRoom(files), functions: ({ functions }) => byRoom(functions) },
    // What waits for the end of other requests may fall into every round of a busy machine.
    { files: 1, functions: 2 },
  );
}

/** How many are in each room. */
function byRoom(names: readonly string[]): string {
  return Object.entries(Object.groupBy(names, (name) => name.replace(/^(inference\/)?([^/]+)\/.*$/, '$1$2')))
    .map(([room, its]) => `${room} ${its!.length}`)
    .sort()
    .join(', ');
}

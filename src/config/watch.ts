import { type FSWatcher, statSync, watch } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

export type ConfigWatch = ReturnType<typeof watchConfig>;

export interface WatchOptions {
  /** Absolute paths; a file need not exist yet. */
  sources: readonly string[];
  /** Their `factsOf` when they were read; the present ones by default. */
  known?: string;
  /** A file has other content or came or went; called once things have been still for `settleMs`. */
  onChange: () => void;
  /** A folder that cannot be watched; the others still are. */
  onError?: (error: Error) => void;
  settleMs?: number;
}

/** Longer than a pause in the middle of writing a file, and no longer than people wait for a reload. */
const settleDefaultMs = 1_000;
const foldersMax = 64;
/** Looks at files that never come to rest, before they are reported anyway. */
const looksMax = 50;

/**
 * Watches the folders, not the files: editors replace a file by renaming another over it, and mounted secrets by
 * changing a link next to it. Any event in a folder leads to a look at the files' facts; only those decide.
 */
export function watchConfig(options: WatchOptions) {
  const settleMs = options.settleMs ?? settleDefaultMs;
  let sources = options.sources;
  let known = options.known ?? factsOf(sources);
  let watchers: FSWatcher[] = [];
  let timer: NodeJS.Timeout | undefined;

  const look = (before: string, looks: number) => {
    const now = factsOf(sources);
    timer = undefined;
    if (now !== before && looks < looksMax) {
      // Still being written: half a file must not be reported as a bad one.
      schedule(now, looks + 1);
      return;
    }
    if (now === known) return;
    known = now;
    options.onChange();
  };
  const schedule = (before: string, looks: number) => {
    timer = setTimeout(look, settleMs, before, looks).unref();
  };
  const open = () => {
    for (const folder of [...new Set(sources.map((file) => dirname(file)))].slice(0, foldersMax)) {
      try {
        const watcher = watch(folder, { persistent: false }, () => {
          if (timer === undefined) schedule(factsOf(sources), 0);
        });
        watcher.on('error', (error) => options.onError?.(error));
        watchers.push(watcher);
      } catch (error) {
        options.onError?.(error instanceof Error ? error : new Error(String(error)));
      }
    }
  };
  const close = () => {
    clearTimeout(timer);
    timer = undefined;
    for (const watcher of watchers) watcher.close();
    watchers = [];
  };

  open();
  // They changed before anybody watched them, as during a long start.
  if (known !== factsOf(sources)) schedule(factsOf(sources), 0);
  return {
    close,
    /** Watches these files instead, as after a reload that named other secret files. */
    update(next: readonly string[]): void {
      if (next.length === sources.length && next.every((file, index) => file === sources[index])) return;
      const isDue = timer !== undefined;
      close();
      sources = next;
      // A change that is still to be looked at came while they were read: nobody has its content.
      known = isDue ? '' : factsOf(sources);
      open();
      if (isDue) schedule(factsOf(sources), 0);
    },
  };
}

/**
 * Resolves once none of the files has changed for `settleMs`, at once where their last change is longer ago; after
 * `looksMax` times that in any case. Half a file may be a valid one, with half of the keys.
 */
export async function settled(sources: readonly string[], settleMs = settleDefaultMs): Promise<void> {
  if (sources.every((file) => isOld(file, settleMs))) return;
  let before = factsOf(sources);
  for (let looks = 0; looks < looksMax; looks++) {
    await pause(settleMs);
    const now = factsOf(sources);
    if (now === before) return;
    before = now;
  }
}

function isOld(file: string, settleMs: number): boolean {
  const facts = statSync(file, { throwIfNoEntry: false });
  return facts !== undefined && Math.abs(Date.now() - facts.ctimeMs) > settleMs;
}

/** Tells one version of the files from another. Follows links and does not read contents. */
export function factsOf(files: readonly string[]): string {
  return files
    .map((file) => {
      try {
        const facts = statSync(file, { bigint: true });
        return `${facts.ino}:${facts.size}:${facts.mtimeNs}:${facts.ctimeNs}`;
      } catch {
        return 'absent';
      }
    })
    .join(' ');
}

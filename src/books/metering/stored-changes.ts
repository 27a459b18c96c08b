import type { Clock } from '../../kernel/clock.ts';
import type { StoredChange, StoredKind } from './storage/storage-counts.ts';

/** Small changes go together: replies come with each request of some callers. */
const gatherMs = 20;
/** So many bytes do not wait for more. */
const gatheredBytesMax = 64 * 1024;

/** Gathers changes for other processes, so that small ones cost few messages. */
export function gatherChanges(
  clock: Pick<Clock, 'wallMs'>,
  send: (changes: readonly StoredChange[]) => void,
): (account: string, kind: StoredKind, bytes: number) => void {
  let gathered: StoredChange[] = [];
  let gatheredBytes = 0;
  let timer: NodeJS.Timeout | null = null;

  function flush(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    send(gathered);
    gathered = [];
    gatheredBytes = 0;
  }

  return (account, kind, bytes) => {
    if (bytes === 0) return;
    gathered.push({ account, kind, bytes, atMs: clock.wallMs() });
    gatheredBytes += Math.abs(bytes);
    if (gatheredBytes > gatheredBytesMax) return flush();
    timer ??= setTimeout(flush, gatherMs);
  };
}

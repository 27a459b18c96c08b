import { FailureError } from '../../kernel/failure.ts';
import { isFileName, type RemovableFiles } from '../../kernel/file-store.ts';
import { OpenedOnce } from '../../kernel/opened-once.ts';
import type { Bucket } from '../s3/bucket.ts';

/**
 * Files in a bucket, which all replicas share. `open` is called with the first file. While the bucket cannot be used
 * callers get 503, and `report` is called once with the reason, and once when it is over.
 */
export function createS3Files(
  open: () => Promise<Bucket>,
  report: (message: string, level?: 'info') => void,
): RemovableFiles {
  const bucket = new OpenedOnce(open);
  let trouble: string | null = null;

  async function reportingTrouble<T>(work: (bucket: Bucket) => Promise<T>): Promise<T> {
    try {
      const result = await work(await bucket.open());
      if (trouble !== null) report('files can be kept in the bucket again', 'info');
      trouble = null;
      return result;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (trouble === null) report(`files cannot be kept in the bucket: ${reason}`);
      trouble = reason;
      throw new FailureError({ kind: 'overloaded', message: unreachable });
    }
  }

  return {
    put(name, bytes) {
      if (!isFileName(name)) throw new Error('not a name for a file');
      return reportingTrouble(({ put }) => put(name, bytes, 'application/octet-stream'));
    },
    async open(name) {
      return isFileName(name) ? reportingTrouble(({ get }) => get(name)) : null;
    },
    async remove(name) {
      if (isFileName(name)) await reportingTrouble((bucket) => bucket.delete(name));
    },
    sweep: (beforeMs) =>
      reportingTrouble(async ({ list, delete: remove }) => {
        let removed = 0;
        let after: string | null = null;
        do {
          const { objects, next } = await list(after);
          for (const { key, atMs } of objects) {
            if (!isFileName(key) || !(atMs < beforeMs)) continue;
            await remove(key);
            removed++;
          }
          after = next;
        } while (after !== null);
        return removed;
      }),
    trouble: () => trouble,
  };
}

const unreachable =
  "The storage of files cannot be used right now. Retry later. Pictures also come with 'response_format' b64_json.";

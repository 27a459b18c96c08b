import type { StorageHold } from '../books/metering/storage/storage-hold.ts';
import type { Services } from '../inference/endpoints/services.ts';
import { type Failure, isFailure } from '../kernel/failure.ts';

/** Does `work` with a hold on the storage of the account. A failure: the account may store nothing more. */
export async function withHold<T>(
  { storage }: Pick<Services, 'storage'>,
  account: string,
  work: (hold: StorageHold) => Promise<T>,
): Promise<T | Failure> {
  const hold = await storage.hold(account);
  if (isFailure(hold)) return hold;
  try {
    return await work(hold);
  } finally {
    hold.release();
  }
}

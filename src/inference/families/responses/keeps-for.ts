import { matchesGlob } from '../../../books/auth/model-glob.ts';
import type { Principal } from '../../../books/auth/principal.ts';
import { forbidden } from '../../../kernel/failure.ts';
import type { Snapshot } from '../../models/snapshot.ts';

/** Whether the operator lets responses of this key be kept. */
export function keepsFor({ config }: Pick<Snapshot, 'config'>, { account, keyName }: Principal): boolean {
  const { enabled, except } = config.storage.responses;
  return enabled && !except.some((glob) => matchesGlob(glob, `${account}/${keyName}`));
}

/** For what cannot be done without keeping anything. */
export const notStored = forbidden(
  'This server keeps no responses for this key. The operator may change that (storage.responses); until then send the whole conversation.',
);

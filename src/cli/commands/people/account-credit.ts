import type { AccountCredit } from '../../../admin/entries/account-credit.ts';
import { CommandFailed } from '../../command-failed.ts';
import { rowTable, shownTime } from '../../rows.ts';

export interface CreditFlags {
  note?: string;
  topUp?: string;
}

/** Refuses what is no amount, and facts of an amount where there is none. */
export function checkCredit({ note, topUp }: CreditFlags, usd: string | undefined): void {
  if (usd !== undefined && !Number.isFinite(Number(usd))) {
    throw new CommandFailed(`'${usd}' is not an amount of USD. Write one as 100 or 12.50.`, 2);
  }
  if (usd === undefined && (note !== undefined || topUp !== undefined)) {
    throw new CommandFailed('--note and --top-up belong to an amount to add.', 2);
  }
}

export function creditText({ granted_usd: granted, remaining_usd: left, data }: AccountCredit, id: string): string[] {
  const has = `${left === null ? '' : `USD ${left} left of `}USD ${granted} that were added.`;
  const sentence = `Account '${id}' has ${granted === null ? 'no credit: its plan alone limits it.' : has}`;
  if (data.length === 0) return [sentence];
  const added = rowTable(data, [
    ['added', ({ at }) => shownTime(at)],
    ['usd', (one) => one.usd],
    ['id', (one) => one.id],
    ['note', (one) => one.note],
    ['by', (one) => one.by],
  ]);
  return [sentence, `\n${added}`];
}

import type { AccountCredit } from '../../../admin/entries/account-credit.ts';
import { type AdminFlags, withAdmin } from '../../admin-client.ts';
import { CommandFailed } from '../../command-failed.ts';
import type { CliParts } from '../../parts.ts';
import { listForm, print, printJson } from '../../print.ts';
import { rowTable, shownTime } from '../../rows.ts';

export async function creditOf(
  id: string,
  usd: string | undefined,
  flags: AdminFlags & { note?: string; topUp?: string },
  parts: CliParts,
): Promise<number> {
  const { note, topUp } = flags;
  if (usd !== undefined && !Number.isFinite(Number(usd))) {
    throw new CommandFailed(`'${usd}' is not an amount of USD. Write one as 100 or 12.50.`, 2);
  }
  if (usd === undefined && (note !== undefined || topUp !== undefined)) {
    throw new CommandFailed('--note and --top-up belong to an amount to add.', 2);
  }
  return withAdmin(flags, parts, async (admin) => {
    const path = `/accounts/${encodeURIComponent(id)}/credit`;
    const body = { usd: Number(usd), note, id: topUp };
    const reply = usd === undefined ? admin.request('GET', path) : admin.request('POST', path, { body });
    const credit = (await reply) as AccountCredit;
    if (listForm(flags) === 'json') {
      printJson(credit);
      return 0;
    }
    const { granted_usd: granted, remaining_usd: left, data } = credit;
    if (granted === null) print(`Account '${id}' has no credit: its plan alone limits it.`);
    else print(`Account '${id}' has ${left === null ? '' : `USD ${left} left of `}USD ${granted} that were added.`);
    if (data.length > 0) {
      print(
        `\n${rowTable(data, [
          ['added', ({ at }) => shownTime(at)],
          ['usd', (one) => one.usd],
          ['id', (one) => one.id],
          ['note', (one) => one.note],
          ['by', (one) => one.by],
        ])}`,
      );
    }
    return 0;
  });
}

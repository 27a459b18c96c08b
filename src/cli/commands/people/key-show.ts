import { type AdminFlags, withAdmin } from '../../admin-client.ts';
import type { CliParts } from '../../parts.ts';
import { listForm, print, printJson } from '../../print.ts';
import { type Row, rowText } from '../../rows.ts';
import { keyIdOf } from './key-id.ts';
import { keyLimitsOf, limitTable } from './windows.ts';

/** `culvert keys show`: the key, and how full its limits and those of its plan are where the server can tell. */
export async function showKey(named: string, flags: AdminFlags, parts: CliParts): Promise<number> {
  return withAdmin(flags, parts, async (admin) => {
    const id = await keyIdOf(admin, named);
    const key = (await admin.request('GET', `/keys/${encodeURIComponent(id)}`)) as Row;
    const limits = await keyLimitsOf(admin, id);
    if (listForm(flags) === 'json') {
      printJson({ ...key, ...(limits !== null && { windows: limits.own, plan_windows: limits.of_plan }) });
      return 0;
    }
    print(rowText(key));
    if (limits === null) return 0;
    const tableOf = (windows: (typeof limits)['own']) => limitTable({ data: [{ key: null, name: null, windows }] });
    print(`\nIts limits:\n${tableOf(limits.own)}`);
    const counted = limits.scope === 'key' ? 'this key' : `the account ${String(key.account)}`;
    print(`\nLimits of the plan ${limits.plan}, for ${counted}:\n${tableOf(limits.of_plan)}`);
    return 0;
  });
}

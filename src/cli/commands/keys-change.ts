import { parseDurationMs } from '../../config/scalars.ts';
import { type AdminFlags, withAdmin } from '../admin-client.ts';
import { CommandFailed } from '../command-failed.ts';
import type { CliParts } from '../parts.ts';
import { note, print, printJson } from '../print.ts';
import type { Row } from '../rows.ts';
import { keyIdOf } from './key-id.ts';

export interface RotateFlags extends AdminFlags {
  grace: string;
}

/** `culvert keys rotate`: the new secret stands alone on stdout, as `keys create` prints it. */
export async function rotateKey(named: string, flags: RotateFlags, parts: CliParts): Promise<number> {
  const graceMs = flags.grace === '0' ? 0 : parseDurationMs(flags.grace);
  if (graceMs === undefined) throw new CommandFailed('--grace: expected a time such as 24h, or 0s', 2);
  return withAdmin(flags, parts, async (admin) => {
    const id = await keyIdOf(admin, named);
    const path = `/keys/${encodeURIComponent(id)}/rotate`;
    const rotated = (await admin.request('POST', path, { body: { grace: flags.grace } })) as Row;
    if (flags.json) printJson(rotated);
    else {
      const until = graceMs === 0 ? 'no longer works' : `works for another ${flags.grace}`;
      note(`Key '${id}' has a new secret, shown this once; the old one ${until}:`);
      print(String(rotated.key));
    }
    return 0;
  });
}

/** `culvert keys revoke` */
export async function revokeKey(named: string, flags: AdminFlags, parts: CliParts): Promise<number> {
  return withAdmin(flags, parts, async (admin) => {
    const id = await keyIdOf(admin, named);
    const revoked = await admin.request('POST', `/keys/${encodeURIComponent(id)}/revoke`, { body: {} });
    if (flags.json) printJson(revoked);
    else note(`Key '${id}' is revoked: new calls are refused within a second, running ones end as they are.`);
    return 0;
  });
}

import { type AdminFlags, withAdmin } from '../../admin-client.ts';
import { CommandFailed } from '../../command-failed.ts';
import type { CliParts } from '../../parts.ts';
import { printReply } from '../../print.ts';
import type { Row } from '../../rows.ts';

/** `user=5/month`, `user:alice=20/week`, `tag:team-a=100/calendar-month@Europe/Berlin` */
const budgetPattern =
  /^(?<kind>user|tag|model)(?::(?<name>.+))?=(?<usd>[^=/]+)\/(?:(?<window>5h|week|month)|calendar-(?<calendar>day|week|month)(?:@(?<zone>.+))?)$/;

export async function setBudgets(id: string, texts: string[], flags: AdminFlags, parts: CliParts): Promise<number> {
  const budgets = texts.map(budgetOf);
  return withAdmin(flags, parts, async (admin) => {
    const path = `/accounts/${encodeURIComponent(id)}`;
    const changed = (await admin.request('PATCH', path, { body: { budgets } })) as Row;
    const has = texts.length === 0 ? 'no budgets within' : `the budgets ${texts.join(', ')}`;
    printReply(flags, changed, `Account '${id}' has ${has}.`);
    return 0;
  });
}

function budgetOf(text: string): Row {
  const parts = budgetPattern.exec(text)?.groups;
  if (parts === undefined) {
    const form = "user=5/month, user:alice=20/week or 'tag:team-a=100/calendar-month@Europe/Berlin'";
    throw new CommandFailed(`'${text}' is not a budget. Write one as ${form}.`, 2);
  }
  const { kind = '', name, usd, window, calendar, zone } = parts;
  return {
    ...(name === undefined ? { by: kind } : { [kind]: name }),
    usd: Number(usd),
    ...(window !== undefined && { window }),
    ...(calendar !== undefined && { calendar }),
    ...(zone !== undefined && { time_zone: zone }),
  };
}

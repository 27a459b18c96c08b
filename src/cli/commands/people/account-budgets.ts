import { type AdminFlags, withAdmin } from '../../admin-client.ts';
import { CommandFailed } from '../../command-failed.ts';
import type { CliParts } from '../../parts.ts';
import { printReply } from '../../print.ts';
import type { Row } from '../../rows.ts';
import { givenWords } from './keys.ts';

/** `user=5/month`, `user:alice=20/week`, `tag:team-a=100/calendar-month@Europe/Berlin` */
const budgetPattern =
  /^(?<kind>user|tag|model)(?::(?<name>.+))?=(?<usd>[^=/]+)\/(?:(?<window>5h|week|month)|calendar-(?<calendar>day|week|month)(?:@(?<zone>.+))?)$/;

export async function setBudgets(id: string, texts: string[], flags: AdminFlags, parts: CliParts): Promise<number> {
  const budgets = givenWords(texts).map(budgetOf);
  return withAdmin(flags, parts, async (admin) => {
    const path = `/accounts/${encodeURIComponent(id)}`;
    const reply = texts.length === 0 ? admin.request('GET', path) : admin.request('PATCH', path, { body: { budgets } });
    const account = (await reply) as Row;
    const set = (account.budgets as Row[]).map(textOf);
    const has = set.length === 0 ? 'no budgets within' : `the budgets ${set.join(', ')}`;
    printReply(flags, account, `Account '${id}' has ${has}.`);
    return 0;
  });
}

/** The budget as one writes it. */
function textOf({ by, usd, window, calendar, time_zone: zone, ...named }: Row): string {
  const [kind = by, name] = Object.entries(named).find(([key]) => isKind(key)) ?? [];
  const of = name === undefined ? kind : `${kind}:${name}`;
  return `${of}=${usd}/${window ?? `calendar-${calendar}${zone === undefined || zone === 'UTC' ? '' : `@${zone}`}`}`;
}

const isKind = (name: string) => name === 'user' || name === 'tag' || name === 'model';

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

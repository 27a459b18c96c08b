import { CommandFailed } from '../../command-failed.ts';
import type { Row } from '../../rows.ts';

/** `user=5/month`, `user:alice=20/week`, `tag:team-a=100/calendar-month@Europe/Berlin` */
const budgetPattern =
  /^(?<kind>user|tag|model)(?::(?<name>.+))?=(?<usd>[^=/]+)\/(?:(?<window>5h|week|month)|calendar-(?<calendar>day|week|month)(?:@(?<zone>.+))?)$/;

/** The budget as one writes it. */
export function budgetText({ by, usd, window, calendar, time_zone: zone, ...named }: Row): string {
  const [kind = by, name] = Object.entries(named).find(([key]) => isKind(key)) ?? [];
  const of = name === undefined ? kind : `${kind}:${name}`;
  return `${of}=${usd}/${window ?? `calendar-${calendar}${zone === undefined || zone === 'UTC' ? '' : `@${zone}`}`}`;
}

const isKind = (name: string) => name === 'user' || name === 'tag' || name === 'model';

export function budgetOf(text: string): Row {
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

import { pipeline } from 'node:stream/promises';
import { type AdminFlags, type AdminQuery, withAdmin } from '../admin-client.ts';
import { pastInstant } from '../instant-option.ts';
import type { CliParts } from '../parts.ts';
import { listForm, note, print, printJson } from '../print.ts';
import { type Column, listRows, printRows, type Row, shownTime } from '../rows.ts';
import { writeWholeFile } from '../whole-file.ts';
import { describedRequest } from './request-described.ts';

export interface RequestFilters extends AdminFlags {
  account?: string;
  model?: string;
  status?: string;
}

export interface RequestsListFlags extends RequestFilters {
  since?: string;
  limit: number;
}

/** `culvert requests list`: newest first. */
export async function listRequests(flags: RequestsListFlags, parts: CliParts): Promise<number> {
  const query = { ...filtersOf(flags), since: pastInstant('--since', flags.since, Date.now()) };
  const { rows, more } = await withAdmin(flags, parts, (admin) => listRows(admin, '/requests', query, flags.limit));
  printRows(flags, rows, columns, 'No such request is kept.');
  if (more && listForm(flags) === 'table') note(`The newest ${rows.length} are shown; --limit shows more.`);
  return 0;
}

const columns: readonly Column[] = [
  ['time', (request) => shownTime(request.created_at)],
  ['id', (request) => request.id],
  ['account', (request) => request.account],
  ['endpoint', (request) => request.endpoint],
  ['model', (request) => request.model],
  ['target', (request) => request.target],
  ['status', (request) => request.status],
  ['ms', (request) => request.ms],
  ['units', (request) => request.units],
];

/** `culvert requests show`: one request with the explanation of its route. */
export async function showRequest(id: string, flags: AdminFlags, parts: CliParts): Promise<number> {
  const path = `/requests/${encodeURIComponent(id)}`;
  const request = (await withAdmin(flags, parts, (admin) => admin.request('GET', path))) as Row;
  if (listForm(flags) === 'json') printJson(request);
  else print(describedRequest(request));
  return 0;
}

export interface RequestsExportFlags extends RequestFilters {
  from?: string;
  to?: string;
  format: 'csv' | 'jsonl';
  out?: string;
}

/** `culvert requests export`: every request of a time, as CSV or JSON lines, to stdout or a file of its owner's. */
export async function exportRequests(flags: RequestsExportFlags, parts: CliParts): Promise<number> {
  const nowMs = Date.now();
  const query = {
    ...filtersOf(flags),
    from: pastInstant('--from', flags.from, nowMs),
    to: pastInstant('--to', flags.to, nowMs),
  };
  await withAdmin(flags, parts, async (admin) => {
    const text = admin.read(`/requests.${flags.format}`, query);
    if (flags.out === undefined) await pipeline(text, process.stdout, { end: false });
    else await writeWholeFile(flags.out, text, 'plain');
  });
  return 0;
}

function filtersOf({ account, model, status }: RequestFilters): AdminQuery {
  return { account, model, status };
}

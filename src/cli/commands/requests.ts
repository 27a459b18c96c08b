import { pipeline } from 'node:stream/promises';
import { type Command, Option } from 'commander';
import { type AdminFlags, type AdminQuery, adminCall, withAdmin } from '../admin-client.ts';
import { CommandFailed } from '../command-failed.ts';
import { pastInstant } from '../instant-option.ts';
import { adminOptions, example, type Run, whole } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { listForm, note, print, printJson } from '../print.ts';
import type { Progress } from '../progress.ts';
import { type Column, list, type Row, shownTime } from '../rows.ts';
import { writeWholeFile } from '../whole-file.ts';
import { describedRequest } from './request-described.ts';

/** `culvert requests …` */
export function declare(requests: Command, run: Run, parts: CliParts): void {
  requests.addHelpText('after', example('culvert requests list --status 502'));

  adminOptions(
    filters(requests.command('list').description('list requests, newest first'))
      .option('--since <date>', 'a date or time, or how long ago such as 2h')
      .option('--limit <rows>', 'how many', whole(1, 100_000), 50),
    'culvert requests list --account dev --since 2h',
  ).action((options) => run(listRequests(options, parts)));

  adminOptions(
    requests
      .command('show')
      .description('explain one request: its targets, its attempts, what the conversion left out, its cost')
      .argument('<id>', "its id (x-culvert-request-id), or the caller's own"),
    'culvert requests show req_019aa0d2-6f0e-7b53-9c7e-0c6c2d1b5a11',
  ).action((id, options) => run(showRequest(id, options, parts)));

  adminOptions(
    filters(requests.command('export').description('write all requests of a time as CSV or JSON lines'))
      .option('--from <date>', 'a date or time, or how long ago such as 7d')
      .option('--to <date>', 'a date or time, or how long ago (default: now)')
      .addOption(new Option('--format <format>', 'form of the export').choices(['csv', 'jsonl']).default('csv'))
      .option('--out <file>', 'file to write (default: standard output)'),
    'culvert requests export --from 2026-11-01 --to 2026-12-01 --out november.csv',
  ).action((options) => run(exportRequests(options, parts)));
}

function filters(command: Command): Command {
  return command
    .option('--account <id>', 'only of this account')
    .option('--model <model>', 'only of this model')
    .option('--mcp-server <name>', 'only calls of this MCP server')
    .option('--class <class>', 'only with this outcome: ok, failed (all but ok), or a failure such as mcp-failed')
    .option('--status <status>', 'only with this HTTP status, such as 502, or 5 for all of 5xx');
}

interface RequestFilters extends AdminFlags {
  account?: string;
  model?: string;
  mcpServer?: string;
  class?: string;
  status?: string;
}

interface RequestsListFlags extends RequestFilters {
  since?: string;
  limit: number;
}

/** `culvert requests list`: newest first. */
function listRequests(flags: RequestsListFlags, parts: CliParts): Promise<number> {
  const query = { ...filtersOf(flags), since: pastInstant('--since', flags.since, Date.now()) };
  const more = `The list stops after the newest ${flags.limit}. --limit shows more.`;
  return list(flags, parts, {
    path: '/requests',
    query,
    rowsMax: flags.limit,
    columns,
    empty: 'There is no such request.',
    more: listForm(flags) === 'table' ? more : undefined,
  });
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
async function showRequest(id: string, flags: AdminFlags, parts: CliParts): Promise<number> {
  const request = (await adminCall(flags, parts, 'GET', `/requests/${encodeURIComponent(id)}`)) as Row;
  if (listForm(flags) === 'json') printJson(request);
  else print(describedRequest(request));
  return 0;
}

interface RequestsExportFlags extends RequestFilters {
  from?: string;
  to?: string;
  format: 'csv' | 'jsonl';
  out?: string;
}

/** `culvert requests export`: every request of a time, as CSV or JSON lines, to stdout or a file of its owner's. */
async function exportRequests(flags: RequestsExportFlags, parts: CliParts): Promise<number> {
  const { format, out, json } = flags;
  if (json && out === undefined)
    throw new CommandFailed('--json tells of a file: name one with --out. Without it the export itself is printed.', 2);
  const nowMs = Date.now();
  const query = {
    ...filtersOf(flags),
    from: pastInstant('--from', flags.from, nowMs),
    to: pastInstant('--to', flags.to, nowMs),
  };
  let bytes = 0;
  async function* counted(pieces: AsyncIterable<string>, progress: Progress): AsyncGenerator<string> {
    for await (const piece of pieces) {
      bytes += Buffer.byteLength(piece);
      progress.count(bytes, 'bytes written');
      yield piece;
    }
  }
  await withAdmin(flags, parts, async (admin, progress) => {
    const text = admin.read(`/requests.${format}`, query);
    if (out !== undefined) await writeWholeFile(out, counted(text, progress), 'plain');
    else {
      progress.end();
      await pipeline(text, process.stdout, { end: false });
    }
  });
  if (json) printJson({ file: out, format, bytes });
  else if (out !== undefined) note(`Wrote ${out}: ${bytes.toLocaleString('en')} bytes.`);
  return 0;
}

function filtersOf({ account, model, mcpServer, class: outcome, status }: RequestFilters): AdminQuery {
  return { account, model, mcp_server: mcpServer, class: outcome, status };
}

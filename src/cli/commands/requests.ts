import { pipeline } from 'node:stream/promises';
import { type AdminFlags, type AdminQuery, withAdmin } from '../admin-client.ts';
import { calls, lists, overAdmin } from '../admin-entries.ts';
import { CommandFailed } from '../command-failed.ts';
import type { CommandBody, OptionEntry } from '../command-table.ts';
import { pastInstant, pastSpan } from '../instant-option.ts';
import { whole } from '../options.ts';
import type { CliParts } from '../parts.ts';
import { listForm, note, printJson } from '../print.ts';
import type { Progress } from '../progress.ts';
import { shownTime } from '../rows.ts';
import { writeWholeFile } from '../whole-file.ts';
import { withKeyId } from './people/key-id.ts';
import { describedRequest } from './request-described.ts';
import { usdOf } from './usage.ts';

const filters: readonly OptionEntry[] = [
  ['--account <id>', 'only of this account'],
  ['--key <key>', 'only of this key, by its id or account/name'],
  ['--model <model>', 'only of this model'],
  ['--provider <name>', 'only those that this provider answered'],
  ['--user <id>', 'only for this end user'],
  ['--tag <tag>', 'only with this tag'],
  ['--session <id>', 'only of this conversation or agent run'],
  ['--mcp-server <name>', 'only calls of this MCP server'],
  ['--agent <name>', 'only messages to this agent'],
  [
    '--class <class>',
    'only with this outcome: ok, failed (all but ok), any (refused ones too), or a failure such as mcp-failed',
  ],
  ['--status <status>', 'only with this HTTP status, such as 502, or 5 for all of 5xx'],
];

export const requests: CommandBody = {
  example: 'culvert requests list --status 502',
  commands: {
    list: lists<RequestsListFlags>({
      description: 'list requests, newest first',
      options: [
        ...filters,
        ['--since <date>', 'a date or time, or how long ago such as 2h'],
        ['--limit <rows>', 'how many', { read: whole(1, 100_000), default: 50 }],
      ],
      example: 'culvert requests list --account dev --since 2h',
      path: '/requests',
      query: (flags) => ({ ...filtersOf(flags), since: pastInstant('--since', flags.since, Date.now()) }),
      rowsMax: ({ limit }) => limit,
      columns: [
        ['time', (request) => shownTime(request.created_at)],
        ['account', (request) => request.account],
        ['endpoint', (request) => request.endpoint],
        ['model', (request) => request.model],
        ['target', (request) => request.target],
        ['status', (request) => request.status],
        ['ms', (request) => request.ms],
        ['units', (request) => request.units],
        // The widest word: a narrow terminal has it alone in a second line.
        ['id', (request) => request.id],
      ],
      empty: 'There is no such request.',
      more: (flags) =>
        listForm(flags) === 'table' ? `The list stops after the newest ${flags.limit}. --limit shows more.` : undefined,
    }),
    sessions: lists<{ account?: string; from: string }>({
      description: 'list conversations and agent runs, by the session that their requests name',
      options: [
        ['--account <id>', 'only of this account'],
        ['--from <date>', 'a date or time, or how long ago such as 2h', { default: '24h' }],
      ],
      example: 'culvert requests sessions --account dev',
      path: '/agent-sessions',
      query: ({ account, from }) => ({ account, from: pastInstant('--from', from, Date.now()) }),
      rowsMax: 2_000,
      columns: [
        ['last request', (session) => shownTime(session.last_at)],
        ['session', (session) => session.session],
        ['account', (session) => session.account],
        ['requests', (session) => session.requests],
        ['failed', (session) => session.errors],
        ['input tokens', (session) => session.input_tokens],
        ['output tokens', (session) => session.output_tokens],
        ['USD', usdOf],
      ],
      empty: 'No request named a session in this time.',
    }),
    show: calls({
      description: 'explain one request: its targets, its attempts, what the conversion left out, its cost',
      arguments: [['<id>', "its id (x-culvert-request-id), or the caller's own"]],
      example: 'culvert requests show req_019aa0d2-6f0e-7b53-9c7e-0c6c2d1b5a11',
      call: 'GET /requests/{id}',
      describe: describedRequest,
    }),
    export: overAdmin({
      description: 'write all requests of a time as CSV or JSON lines',
      options: [
        ...filters,
        ['--from <date>', 'a date or time, or how long ago such as 7d'],
        ['--to <date>', 'a date or time, or how long ago (default: now)'],
        ['--format <format>', 'form of the export', { choices: ['csv', 'jsonl'], default: 'csv' }],
        ['--out <file>', 'file to write (default: standard output)'],
      ],
      example: 'culvert requests export --from 2026-11-01 --to 2026-12-01 --out november.csv',
      work: () => exportRequests,
    }),
  },
};

type Filter =
  | 'account'
  | 'key'
  | 'model'
  | 'provider'
  | 'user'
  | 'tag'
  | 'session'
  | 'mcpServer'
  | 'agent'
  | 'class'
  | 'status';
type RequestFilters = AdminFlags & Partial<Record<Filter, string>>;

interface RequestsListFlags extends RequestFilters {
  since?: string;
  limit: number;
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
    throw new CommandFailed(
      '--json describes a file: name one with --out. Without it the export itself is printed.',
      2,
    );
  const span = pastSpan(flags);
  let bytes = 0;
  async function* counted(pieces: AsyncIterable<string>, progress: Progress): AsyncGenerator<string> {
    for await (const piece of pieces) {
      bytes += Buffer.byteLength(piece);
      progress.count(bytes, 'bytes written');
      yield piece;
    }
  }
  await withAdmin(flags, parts, async (admin, progress) => {
    const text = admin.read(`/requests.${format}`, await withKeyId(admin, { ...filtersOf(flags), ...span }));
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

function filtersOf({ mcpServer: mcp_server, class: outcome, ...flags }: RequestFilters): AdminQuery {
  const { account, key, model, provider, user, tag, session, agent, status } = flags;
  return { account, key, model, provider, user, tag, session, mcp_server, agent, class: outcome, status };
}

import { type Column, type Row, rowTable, shown, shownTime } from '../rows.ts';
import { aligned } from '../table.ts';

interface DescribedRoute {
  verdicts?: readonly Row[];
  attempts?: readonly Row[];
  losses?: readonly Row[];
  passThrough?: boolean;
  malformedLines?: number;
  refused?: Row;
  rules?: { applied: readonly string[]; passed?: readonly Row[]; passedMore?: number; classified?: readonly Row[] };
  mcp?: Row;
  agent?: Row;
}

/** One request for people: its facts, its cost, the considered targets, and the answer of each attempt. */
export function describedRequest(request: Row): string {
  const usage = (request.usage ?? {}) as Row;
  const route = (request.route ?? {}) as DescribedRoute;
  const facts: [name: string, value: string][] = [
    ['request', idsOf(request)],
    ['time', shownTime(request.created_at)],
    ['caller', [request.account, request.key].filter((part) => shown(part) !== '').join(', key ')],
    [
      'asked',
      `${shown(request.endpoint)}${shown(request.model) === '' ? '' : `, model ${shown(request.model)}`}${request.stream === true ? ', as a stream' : ''}`,
    ],
    ['called', called(route.mcp) || messaged(route.agent)],
    ['answered', answered(request)],
    ['refused', shown(route.refused?.message)],
    ['took', took(request)],
    ['tokens', tokens(usage)],
    ['cost', `${shown(request.units)} units${typeof request.cost_usd === 'number' ? `, $${request.cost_usd}` : ''}`],
    ['sent', sent(route)],
    ['rules', route.rules?.applied.join(', ') ?? ''],
  ];
  const lines = [aligned(facts.filter(([, value]) => value !== ''))];
  const tableOf = (rows: readonly Row[] | undefined, ...columns: Column[]) => {
    if (rows !== undefined && rows.length > 0) lines.push('', rowTable(rows, columns));
  };
  tableOf(route.verdicts, ['candidate', (row) => row.target], ['verdict', (row) => row.verdict]);
  tableOf(
    route.rules?.classified,
    ['rule by examples', (row) => row.rule],
    ['nearest', (row) => row.model ?? 'none clearly'],
    ['similarity', (row) => (typeof row.score === 'number' ? row.score.toFixed(2) : '')],
    ['', (row) => (row.observed === true ? 'observed only' : '')],
  );
  tableOf(route.rules?.passed, ['rule that did not apply', (row) => row.rule], ['not true', (row) => row.because]);
  if (route.rules?.passedMore !== undefined) lines.push(`${route.rules.passedMore} more rules did not apply.`);
  tableOf(
    request.feedback as readonly Row[] | undefined,
    ['metric', (row) => row.metric],
    ['value', (row) => String(row.value)],
    ['comment', (row) => row.comment],
  );
  const { attempts = [] } = route;
  lines.push('', attempts.length === 0 ? 'Nothing was sent to an upstream.' : attemptTable(attempts));
  tableOf(route.losses, ['left out', (row) => row.field], ['because', (row) => row.why]);
  return lines.join('\n');
}

function idsOf({ id, client_request_id: client }: Row): string {
  return shown(client) === '' ? shown(id) : `${shown(id)} (id of the caller: ${shown(client)})`;
}

function answered({ status, class: outcome, target, aborted }: Row): string {
  const by = shown(target) === '' ? '' : ` by ${shown(target)}`;
  return `${shown(status)} ${shown(outcome)}${by}${aborted === true ? '; the caller left' : ''}`;
}

/** Describes a call of an MCP server, and how it went. */
function called(mcp: Row | undefined): string {
  if (mcp === undefined) return '';
  const { server, kind, name, host, outcome, bytes } = mcp;
  const where = host === null ? shown(server) : `${shown(server)} (${shown(host)})`;
  return `${shown(kind)} ${shown(name)} of the MCP server ${where}: ${shown(outcome ?? 'no result')}, ${shown(bytes)} bytes`;
}

/** Describes a message to an agent, and how it went. */
function messaged(message: Row | undefined): string {
  if (message === undefined) return '';
  const { agent, method, task, outcome, bytes } = message;
  const of = shown(task) === '' ? '' : ` of task ${shown(task)}`;
  return `${shown(method)}${of} at the agent ${shown(agent)}: ${shown(outcome ?? 'no answer')}, ${shown(bytes)} bytes`;
}

function took({ ms, first_token_ms: first }: Row): string {
  return `${shown(ms)} ms${typeof first === 'number' ? `, first token after ${first} ms` : ''}`;
}

function tokens(usage: Row): string {
  const cached = Number(usage.cached_input_tokens ?? 0);
  const reasoning = Number(usage.reasoning_tokens ?? 0);
  const written = Number(usage.cache_write_tokens ?? 0);
  const parts = [
    ...(cached > 0 ? [`${cached} cached`] : []),
    ...(written > 0 ? [`${written} written to the cache`] : []),
  ];
  const input = `${shown(usage.input_tokens)} in${parts.length > 0 ? ` (${parts.join(', ')})` : ''}`;
  const output = `${shown(usage.output_tokens)} out${reasoning > 0 ? ` (${reasoning} reasoning)` : ''}`;
  return `${input}, ${output}; source: ${shown(usage.source)}`;
}

function sent({ attempts = [], passThrough, malformedLines = 0 }: DescribedRoute): string {
  if (attempts.length === 0) return '';
  const form = passThrough === true ? 'sent as the caller wrote it' : 'converted';
  return malformedLines > 0 ? `${form}; ${malformedLines} unreadable lines of the answer were skipped` : form;
}

function attemptTable(attempts: readonly Row[]): string {
  const numbered = attempts.map((attempt, index) => ({ ...attempt, number: index + 1 }));
  return rowTable(numbered, [
    ['attempt', (row) => row.number],
    ['target', (row) => row.target],
    ['credential', (row) => row.credential],
    ['class', (row) => row.class],
    ['status', (row) => row.status],
    ['start', (row) => row.startMs],
    ['ms', (row) => row.ms],
    ['first token', (row) => row.firstTokenMs],
    ['bytes', (row) => row.bytes],
    ['USD', (row) => row.costUsd],
    ['message', (row) => row.message],
  ]);
}

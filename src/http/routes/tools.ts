import { type Delivery, refuse, sendWhole } from '../../inference/spine/sink.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type Failure, FailureError, invalid, statusOf } from '../../kernel/failure.ts';
import { isObject, type JsonValue } from '../../kernel/json.ts';
import { isPaid } from '../../tools/page-reader.ts';
import type { ToolEnd, ToolHold, ToolJob, ToolMeter, ToolName } from '../../tools/tool-call.ts';
import { ToolFields } from '../../tools/tool-fields.ts';
import type { Exchange, Route } from '../exchange.ts';
import { readJsonBody } from '../read-body.ts';
import { left, type MeteredCall, meteredCallOf, unexpected, withCost } from './metered-call.ts';
import { firecrawlErrors, toolErrors } from './tool-errors.ts';

export interface ToolParts {
  meter: ToolMeter<MeteredCall>;
  clock: Clock;
}

/** Whose call it is, for what keeps and finds pages. */
export type ToolCaller = Pick<MeteredCall, 'requestId' | 'principal' | 'startedMs'>;

export interface Tool {
  name: ToolName;
  summary: string;
  /** Checks the body: a wrong field throws a FailureError. */
  prepare(fields: ToolFields, caller: ToolCaller): ToolJob;
}

/** A request names one address and a few wishes. */
const toolBodyBytesMax = 1024 * 1024;

/** `POST /v1/tools/<name>`, and `/v1/tools/v2/<name>` for Firecrawl's SDK: one handler, two shapes of errors. */
export function toolRoutes(parts: ToolParts, tool: Tool): Route[] {
  const shared = {
    method: 'POST',
    auth: 'key',
    quota: 'one',
    endpoint: tool.name,
    summary: tool.summary,
    handle: (exchange: Exchange) => answerToolCall(parts, tool, exchange),
  } as const;
  return [
    { ...shared, path: `/v1/tools/${tool.name}`, dialect: toolErrors },
    { ...shared, path: `/v1/tools/v2/${tool.name}`, dialect: firecrawlErrors },
  ];
}

/** The way of a tools call: body → checked → held → done → answered → settled. */
async function answerToolCall({ meter }: ToolParts, tool: Tool, exchange: Exchange): Promise<void> {
  const { client } = exchange;
  const call = meteredCallOf(exchange);
  const { admitted } = call;
  const raw = await readJsonBody(exchange, toolBodyBytesMax);
  if (raw === null) return;
  if (!Buffer.isBuffer(raw)) return refuse(client, raw, admitted.headers);
  const prepared = prepare(tool, raw, call);
  if ('kind' in prepared) return refuse(client, prepared, admitted.headers);
  const { job, fields } = prepared;
  const hold = await meter.hold(call, job.charge);
  if (hold.kind !== 'held') return refuse(client, hold, admitted.headers);
  let end: ToolEnd = unexpected;
  try {
    end = await runJob(client, job, hold, fields.unknownWarning());
  } finally {
    hold.settle(end);
  }
}

function prepare(tool: Tool, raw: Buffer, caller: ToolCaller): { job: ToolJob; fields: ToolFields } | Failure {
  let body: JsonValue;
  try {
    body = JSON.parse(raw.toString('utf8')) as JsonValue;
  } catch {
    return invalid(null, 'The request body is not valid JSON.');
  }
  if (!isObject(body)) return invalid(null, 'The request body must be a JSON object.');
  const fields = new ToolFields(body);
  try {
    return { job: tool.prepare(fields, caller), fields };
  } catch (error) {
    if (error instanceof FailureError) return error.failure;
    throw error;
  }
}

async function runJob(client: Delivery, job: ToolJob, hold: ToolHold, unknown: string | null): Promise<ToolEnd> {
  const leaving = new AbortController();
  client.onGone(() => leaving.abort());
  if (client.gone) return left;
  const answer = await job.run(leaving.signal);
  const worked = answer.kind !== 'answer' && isPaid(answer);
  if (client.gone) return { ...left, worked };
  if (answer.kind !== 'answer') {
    refuse(client, answer, worked ? hold.headers : withCost(hold.headers, 0));
    return { status: statusOf(answer), failure: answer, aborted: false, worked };
  }
  const warning = [...answer.warnings, ...(unknown === null ? [] : [unknown])].join(' ');
  const body = { success: true, ...answer.body, ...(warning === '' ? {} : { warning }) };
  const { pages } = answer;
  const headers = pages === undefined ? hold.headers : withCost(hold.headers, hold.costOf(pages));
  sendWhole(client, headers, Buffer.from(JSON.stringify(body)));
  return { status: 200, failure: null, aborted: false, ...(pages === undefined ? {} : { pages }) };
}

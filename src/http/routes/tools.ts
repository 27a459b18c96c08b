import type { Principal } from '../../auth/principal.ts';
import { withCost } from '../../inference/spine/answer.ts';
import { type Delivery, refuse, sendWhole } from '../../inference/spine/sink.ts';
import type { Clock } from '../../kernel/clock.ts';
import { type Failure, FailureError, statusOf } from '../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../kernel/json.ts';
import { parseObject } from '../../kernel/parse-object.ts';
import { isPaid } from '../../tools/page-reader.ts';
import { schemaOfReads } from '../../tools/read-schema.ts';
import type { ToolEnd, ToolHold, ToolJob, ToolMeter, ToolName } from '../../tools/tool-call.ts';
import { ToolFields } from '../../tools/tool-fields.ts';
import type { Exchange, Route } from '../exchange.ts';
import { readJsonBody } from '../read-body.ts';
import { left, type MeteredCall, meteredCallOf, unexpected } from './metered-call.ts';
import { type ToolMount, toolMounts } from './tool-mounts.ts';

export interface ToolParts {
  meter: ToolMeter<MeteredCall>;
  clock: Clock;
}

/** Owner of the call, under whom pages are kept and found. */
export type ToolCaller = Pick<MeteredCall, 'requestId' | 'principal' | 'startedMs'>;

export interface Tool {
  name: ToolName;
  summary: string;
  /** Checks the body: a wrong field throws a FailureError. */
  prepare(fields: ToolFields, caller: ToolCaller): ToolJob;
  /** Firecrawl's first API in the words of its second. */
  v1: {
    request(body: JsonObject): JsonObject;
    answer(answer: JsonObject, request: JsonObject): JsonObject;
  };
}

/** For a request whose fields alone are read. */
const nobody: ToolCaller = { requestId: '', principal: { tenant: '', keyId: '' } as Principal, startedMs: 0 };

/** A request names one address and a few options. */
const toolBodyBytesMax = 1024 * 1024;

/** `POST /v1/tools/<name>`, and the same for Firecrawl's SDKs: one handler at each mount. */
export function toolRoutes(parts: ToolParts, tool: Tool): Route[] {
  return toolMounts.map((mount) => ({
    method: 'POST',
    path: `${mount.at}/${tool.name}`,
    auth: 'key',
    quota: 'one',
    endpoint: tool.name,
    summary: tool.summary,
    // Firecrawl's first API has its own words.
    ...(mount.api !== 'firecrawl-v1' && {
      body: { schema: () => schemaOfReads((fields) => tool.prepare(fields, nobody)) },
    }),
    dialect: mount.dialect,
    handle: (exchange) => answerToolCall(parts, tool, mount, exchange),
  }));
}

/** The way of a tools call: body → checked → held → done → answered → settled. */
async function answerToolCall({ meter }: ToolParts, tool: Tool, mount: ToolMount, exchange: Exchange): Promise<void> {
  const { client } = exchange;
  const call = meteredCallOf(exchange);
  const { admitted } = call;
  const raw = await readJsonBody(exchange, toolBodyBytesMax);
  if (raw === null) return;
  if (!Buffer.isBuffer(raw)) return refuse(client, raw, admitted.headers);
  const prepared = prepare(tool, mount, raw, call);
  if ('kind' in prepared) return refuse(client, prepared, admitted.headers);
  const { job } = prepared;
  const hold = await meter.hold(call, job.charge);
  if (hold.kind !== 'held') return refuse(client, hold, admitted.headers);
  let end: ToolEnd = unexpected;
  try {
    end = await runJob(client, prepared, hold);
  } finally {
    hold.settle(end);
  }
}

interface Prepared {
  job: ToolJob;
  fields: ToolFields;
  /** In the words of the mount. */
  shown(answer: JsonObject): JsonObject;
}

function prepare(tool: Tool, { api }: ToolMount, raw: Buffer, caller: ToolCaller): Prepared | Failure {
  const parsed = parseObject(raw);
  if (!parsed.ok) return parsed.failure;
  const received = parsed.value.body;
  const { v1 } = tool;
  const fields = new ToolFields(api === 'firecrawl-v1' ? v1.request(received) : received);
  try {
    const job = tool.prepare(fields, caller);
    if (api === 'culvert') return { job, fields, shown: (answer) => answer };
    const inV1 = (answer: JsonObject) => (api === 'firecrawl-v1' ? v1.answer(answer, received) : answer);
    return { job, fields, shown: (answer) => inV1(warnedWithin(answer)) };
  } catch (error) {
    if (error instanceof FailureError) return error.failure;
    throw error;
  }
}

/** Firecrawl's SDKs show of a page's answer `data` alone: its warning is there too. */
function warnedWithin(answer: JsonObject): JsonObject {
  const { data, warning } = answer;
  return warning === undefined || !isObject(data) ? answer : { ...answer, data: { ...data, warning } };
}

async function runJob(client: Delivery, { job, fields, shown }: Prepared, hold: ToolHold): Promise<ToolEnd> {
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
  const unknown = fields.unknownWarning();
  const warning = [...answer.warnings, ...(unknown === null ? [] : [unknown])].join(' ');
  const body = shown({ success: true, ...answer.body, ...(warning === '' ? {} : { warning }) });
  const { pages } = answer;
  const headers = pages === undefined ? hold.headers : withCost(hold.headers, hold.costOf(pages));
  sendWhole(client, headers, Buffer.from(JSON.stringify(body)));
  return { status: 200, failure: null, aborted: false, ...(pages === undefined ? {} : { pages }) };
}

import type { Principal } from '../../../books/auth/principal.ts';
import { type ToolCaller, type ToolOrder, toolEndpoint } from '../../../inference/families/pages/tool-endpoint.ts';
import type { ServeServices } from '../../../inference/spine/answer-cache.ts';
import { madeOrder } from '../../../inference/spine/readable-input.ts';
import { serve } from '../../../inference/spine/serve.ts';
import { refuse } from '../../../inference/spine/sink.ts';
import { isFailure } from '../../../kernel/failure.ts';
import { isObject, type JsonObject } from '../../../kernel/json.ts';
import { parseObject } from '../../../kernel/parse-object.ts';
import { schemaOfReads } from '../../../tools/read-schema.ts';
import type { ToolJob, ToolName } from '../../../tools/tool-call.ts';
import { ToolFields } from '../../../tools/tool-fields.ts';
import type { Exchange, Route } from '../../exchange.ts';
import { plainCallOf } from '../../model-call.ts';
import { readJsonBody } from '../../read-body.ts';
import { keyRoute } from '../key-route.ts';
import { type ToolMount, toolMounts } from './tool-mounts.ts';

export interface Tool {
  name: ToolName;
  summary: string;
  /** Checks the body: a wrong field throws a FailureError. */
  prepare(fields: ToolFields, caller: ToolCaller): ToolJob;
  /** Firecrawl's first API in the words of its second. */
  v1: { request(body: JsonObject): JsonObject; answer(answer: JsonObject, request: JsonObject): JsonObject };
}

/** For a request whose fields alone are read. */
const nobody: ToolCaller = { requestId: '', principal: { tenant: '', keyId: '' } as Principal, startedMs: 0 };

/** A request names one address and a few options. */
const toolBodyBytesMax = 1024 * 1024;

/** `POST /v1/tools/<name>`, and the same for Firecrawl's SDKs: one handler at each mount. */
export function toolRoutes(services: ServeServices, tool: Tool): Route[] {
  return toolMounts.map((mount) =>
    keyRoute(`POST ${mount.at}/${tool.name}`, 'one', {
      endpoint: tool.name,
      summary: tool.summary,
      // Firecrawl's first API has its own words.
      ...(mount.api !== 'firecrawl-v1' && {
        body: { schema: () => schemaOfReads((fields) => tool.prepare(fields, nobody)) },
      }),
      dialect: mount.dialect,
      handle: (exchange) => answerToolCall(services, tool, mount, exchange),
    }),
  );
}

/** The way of a tools call: body → checked → held → done → answered → settled. */
async function answerToolCall(
  services: ServeServices,
  tool: Tool,
  mount: ToolMount,
  exchange: Exchange,
): Promise<void> {
  const call = plainCallOf(exchange);
  const { sink, admitted } = call;
  const raw = await readJsonBody(exchange, toolBodyBytesMax);
  if (raw === null) return;
  const parsed = Buffer.isBuffer(raw) ? parseObject(raw) : raw;
  if (isFailure(parsed)) return refuse(sink, parsed, admitted.headers);
  // The same words mean the same in both of the other APIs.
  const kind = mount.api === 'firecrawl-v1' ? `${tool.name} ${mount.api}` : tool.name;
  const order = madeOrder<ToolOrder>(kind, parsed.body, (received) => orderOf(tool, mount, received));
  return serve(services, toolEndpoint, call, order);
}

function orderOf(tool: Tool, { api }: ToolMount, received: JsonObject): ToolOrder {
  const { v1 } = tool;
  const fields = new ToolFields(api === 'firecrawl-v1' ? v1.request(received) : received);
  return {
    prepare: (caller) => tool.prepare(fields, caller),
    write({ body, warnings }) {
      const unknown = fields.unknownWarning();
      const warning = [...warnings, ...(unknown === null ? [] : [unknown])].join(' ');
      const answer: JsonObject = { success: true, ...body, ...(warning === '' ? {} : { warning }) };
      if (api === 'culvert') return JSON.stringify(answer);
      const shown = warnedWithin(answer);
      return JSON.stringify(api === 'firecrawl-v1' ? v1.answer(shown, received) : shown);
    },
  };
}

/** Firecrawl's SDKs show of a page's answer `data` alone: its warning is there too. */
function warnedWithin(answer: JsonObject): JsonObject {
  const { data, warning } = answer;
  return warning === undefined || !isObject(data) ? answer : { ...answer, data: { ...data, warning } };
}

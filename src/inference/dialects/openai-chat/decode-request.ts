import type { JsonObject } from '../../../kernel/json.ts';
import type { NeutralRequest } from '../../neutral/request.ts';
import type { Result } from '../dialect.ts';
import { placeFields } from '../field-table.ts';
import { checkRequest } from './check-request.ts';
import { customTools } from './decode-fields.ts';
import { decodeMessage } from './decode-messages.ts';
import { requestFields } from './request-fields.ts';
import { type ChatRequest, openAiChatId } from './wire.ts';

export function decodeRequest(body: JsonObject): Result<NeutralRequest> {
  const checked = checkRequest(body);
  return checked.ok ? { ok: true, value: toNeutral(checked.value) } : checked;
}

/** The neutral form of a checked request. Only needed when the answer will come in another dialect. */
export function toNeutral(body: ChatRequest): NeutralRequest {
  const request: NeutralRequest = {
    model: body.model,
    messages: body.messages.map(decodeMessage),
    stream: body.stream === true,
    includeUsage: body.stream_options?.include_usage === true,
  };
  const { hints, vendor } = placeFields(requestFields, request, body, undefined, customTools(body));
  if (hints !== null) request.hints = hints;
  if (vendor !== null) request.extensions = { [openAiChatId]: vendor };
  return request;
}

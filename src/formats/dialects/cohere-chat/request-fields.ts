import { bodySchema, type JsonSchema } from '../../neutral/described-check.ts';
import * as v from '../../neutral/value-checks.ts';
import { plainTable, questionsOf } from '../field-table.ts';
import { tool } from '../ollama/request-fields.ts';

const messagesMax = 100_000;
const partsMax = 10_000;
const toolsMax = 128;
const documentsMax = 10_000;

const text = v.members("an object with 'text'", { text: v.needed(v.string, 'a text') });
const picture = v.members("an object with 'image_url'", {
  image_url: v.needed(
    v.members("an object with 'url'", { url: v.needed(v.string, 'an address, or a data: URL'), detail: v.string }),
    "an object with 'url'",
  ),
});
const document = v.members("an object with 'data'", {
  data: v.needed(v.textOr(v.object), 'a text or an object'),
  id: v.string,
});

const part = v.byType(
  "an object such as {'type': 'text', 'text': '…'}",
  "'text', 'image_url', 'thinking' or 'document'",
  {
    text,
    image_url: picture,
    thinking: v.members("an object with 'thinking'", { thinking: v.needed(v.string, 'a text') }),
    document: v.members("an object with 'document'", {
      document: v.needed(v.textOr(document), "an object with 'data'"),
    }),
  },
);

const call = v.members("an object with 'id' and 'function'", {
  id: v.needed(v.string, 'the id of the call'),
  type: v.oneOf('function'),
  function: v.needed(
    v.members("an object with 'name' and 'arguments'", {
      name: v.needed(v.functionName, 'a name'),
      arguments: v.string,
    }),
    "an object with 'name' and 'arguments'",
  ),
});

const message = v.members("an object with 'role' and 'content'", {
  role: v.needed(v.oneOf('system', 'user', 'assistant', 'tool'), "'system', 'user', 'assistant' or 'tool'"),
  content: v.textOr(v.arrayOf(part, 0, partsMax, 'parts')),
  tool_calls: v.arrayOf(call, 0, toolsMax, 'calls'),
  tool_call_id: v.string,
  tool_plan: v.string,
});

/** Fields that every provider has some form of. Cohere itself judges those of its callers more closely. */
const fields = plainTable({
  model: v.string,
  messages: v.arrayOf(message, 1, messagesMax, 'messages'),
  stream: v.boolean,
  tools: v.arrayOf(tool, 0, toolsMax, 'tools'),
  strict_tools: v.boolean,
  tool_choice: v.oneOf('REQUIRED', 'NONE'),
  documents: v.arrayOf(v.textOr(document), 0, documentsMax, 'texts or documents'),
  response_format: v.byType("an object with 'type'", "'text' or 'json_object'", {
    text: null,
    json_object: v.members('an object', { json_schema: v.object, schema: v.object }),
  }),
  max_tokens: v.integerIn(1, Number.MAX_SAFE_INTEGER),
  stop_sequences: v.arrayOf(v.string, 0, 16, 'texts'),
  temperature: v.numberIn(0, 2),
  seed: v.integerIn(0, Number.MAX_SAFE_INTEGER),
  frequency_penalty: v.numberIn(0, 1),
  presence_penalty: v.numberIn(0, 1),
  k: v.integerIn(0, 500),
  p: v.numberIn(0, 1),
  // OpenAI's word, which prompts of the server write into a body.
  reasoning_effort: v.string,
  thinking: v.members("an object with 'type'", {
    type: v.needed(v.oneOf('enabled', 'disabled'), "'enabled' or 'disabled'"),
    token_budget: v.integerIn(1, Number.MAX_SAFE_INTEGER),
  }),
});

const required = new Map([
  ['model', 'the name of a model (GET /v1/models lists them)'],
  ['messages', 'an array of at least one message'],
]);

export const { invalidFieldIn, unknownFieldsIn } = questionsOf(fields, required);

/** Schema of the body of `POST /v2/chat` for `/openapi.json`. */
export function requestSchema(): JsonSchema {
  return bodySchema([...fields, ...ofCohereAlone], required);
}

const ofCohereAlone = plainTable({
  citation_options: v.object,
  safety_mode: v.string,
  logprobs: v.boolean,
  priority: v.anyJson,
});

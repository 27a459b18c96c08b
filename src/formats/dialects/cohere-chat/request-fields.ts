import { bodySchema, type JsonSchema } from '../../neutral/described-check.ts';
import {
  anyJson,
  arrayOf,
  boolean,
  byType,
  functionName,
  integerIn,
  members,
  needed,
  numberIn,
  object,
  oneOf,
  string,
  textOr,
} from '../../neutral/value-checks.ts';
import { plainTable, questionsOf } from '../field-table.ts';
import { tool } from '../ollama/request-fields.ts';

const messagesMax = 100_000;
const partsMax = 10_000;
const toolsMax = 128;
const documentsMax = 10_000;

const text = members("an object with 'text'", { text: needed(string, 'a text') });
const picture = members("an object with 'image_url'", {
  image_url: needed(
    members("an object with 'url'", { url: needed(string, 'an address, or a data: URL'), detail: string }),
    "an object with 'url'",
  ),
});
const document = members("an object with 'data'", { data: needed(textOr(object), 'a text or an object'), id: string });

const part = byType(
  "an object such as {'type': 'text', 'text': '…'}",
  "'text', 'image_url', 'thinking' or 'document'",
  {
    text,
    image_url: picture,
    thinking: members("an object with 'thinking'", { thinking: needed(string, 'a text') }),
    document: members("an object with 'document'", { document: needed(textOr(document), "an object with 'data'") }),
  },
);

const call = members("an object with 'id' and 'function'", {
  id: needed(string, 'the id of the call'),
  type: oneOf('function'),
  function: needed(
    members("an object with 'name' and 'arguments'", { name: needed(functionName, 'a name'), arguments: string }),
    "an object with 'name' and 'arguments'",
  ),
});

const message = members("an object with 'role' and 'content'", {
  role: needed(oneOf('system', 'user', 'assistant', 'tool'), "'system', 'user', 'assistant' or 'tool'"),
  content: textOr(arrayOf(part, 0, partsMax, 'parts')),
  tool_calls: arrayOf(call, 0, toolsMax, 'calls'),
  tool_call_id: string,
  tool_plan: string,
});

/** Fields that every provider has some form of. Cohere itself judges those of its callers more closely. */
const fields = plainTable({
  model: string,
  messages: arrayOf(message, 1, messagesMax, 'messages'),
  stream: boolean,
  tools: arrayOf(tool, 0, toolsMax, 'tools'),
  strict_tools: boolean,
  tool_choice: oneOf('REQUIRED', 'NONE'),
  documents: arrayOf(textOr(document), 0, documentsMax, 'texts or documents'),
  response_format: byType("an object with 'type'", "'text' or 'json_object'", {
    text: null,
    json_object: members('an object', { json_schema: object, schema: object }),
  }),
  max_tokens: integerIn(1, Number.MAX_SAFE_INTEGER),
  stop_sequences: arrayOf(string, 0, 16, 'texts'),
  temperature: numberIn(0, 2),
  seed: integerIn(0, Number.MAX_SAFE_INTEGER),
  frequency_penalty: numberIn(0, 1),
  presence_penalty: numberIn(0, 1),
  k: integerIn(0, 500),
  p: numberIn(0, 1),
  // OpenAI's word, which prompts of the server write into a body.
  reasoning_effort: string,
  thinking: members("an object with 'type'", {
    type: needed(oneOf('enabled', 'disabled'), "'enabled' or 'disabled'"),
    token_budget: integerIn(1, Number.MAX_SAFE_INTEGER),
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
  citation_options: object,
  safety_mode: string,
  logprobs: boolean,
  priority: anyJson,
});

import { isObject } from '../../../kernel/json.ts';
import { bodySchema, type JsonSchema } from '../../neutral/described-check.ts';
import {
  anyJson,
  arrayOf,
  boolean,
  byType,
  type Check,
  complain,
  integerIn,
  members,
  needed,
  numberIn,
  object,
  oneOf,
  string,
  stringOf,
  textOr,
} from '../../neutral/value-checks.ts';
import { plainTable, questionsOf } from '../field-table.ts';

const messagesMax = 100_000;
const partsMax = 10_000;
const toolsMax = 512;

const text = members("an object with 'text'", { text: needed(string, 'a text') });
const fileData = textOr(
  byType("an object such as {'type': 'data', 'data': '…'}", "'data', 'url', 'text' or 'reference'", {
    data: members("an object with 'data'", { data: needed(string, 'base64') }),
    url: members("an object with 'url'", { url: needed(string, 'an address') }),
    text,
    reference: members("an object with 'reference'", { reference: needed(object, 'ids by provider') }),
  }),
);
const file = members("an object with 'data' and 'mediaType'", {
  data: needed(fileData, 'base64, an address, or an object with one of them'),
  mediaType: needed(string, 'the media type'),
  filename: string,
});

const resultPart = byType("an object with 'type'", "'text', 'file' or 'media'", { text, file }, 'pass');
const output = byType("an object with 'type' and 'value'", 'a type of output', {
  text: members("an object with 'value'", { value: needed(string, 'a text') }),
  json: members("an object with 'value'", { value: anyJson }),
  'error-text': members("an object with 'value'", { value: needed(string, 'a text') }),
  'error-json': members("an object with 'value'", { value: anyJson }),
  'execution-denied': members('an object', { reason: string }),
  content: members("an object with 'value'", { value: needed(arrayOf(resultPart, 0, partsMax, 'parts'), 'an array') }),
});

const callId = needed(stringOf(1, 65_536), 'the id of the call');
const part = byType(
  "an object such as {'type': 'text', 'text': '…'}",
  'a type of part',
  {
    text,
    reasoning: text,
    file,
    'tool-call': members("an object with 'toolCallId', 'toolName' and 'input'", {
      toolCallId: callId,
      toolName: needed(stringOf(1, 256), 'the name of the tool'),
      input: anyJson,
    }),
    'tool-result': members("an object with 'toolCallId' and 'output'", {
      toolCallId: callId,
      output: needed(output, "an object with 'type' and 'value'"),
    }),
  },
  'pass',
);

const content: Check = (value) => {
  if (typeof value === 'string') return null;
  return Array.isArray(value) ? parts(value) : complain('', value, 'a text or an array of parts');
};
const parts = arrayOf(part, 0, partsMax, 'parts');

const message = members("an object with 'role' and 'content'", {
  role: needed(oneOf('system', 'user', 'assistant', 'tool'), "'system', 'user', 'assistant' or 'tool'"),
  content: needed(content, 'a text or an array of parts'),
  providerOptions: object,
});

const tool: Check = (value) => {
  if (!isObject(value)) return complain('', value, "an object with 'type'");
  return value.type === 'function' ? functionTool(value) : providerTool(value);
};
const functionTool = members("an object with 'name' and 'inputSchema'", {
  name: needed(stringOf(1, 256), 'the name of the tool'),
  description: string,
  inputSchema: object,
  strict: boolean,
});
const providerTool = members("an object with 'type'", {
  type: needed(string, "'function', or a tool of a provider"),
  id: string,
});

const fields = plainTable({
  model: string,
  stream: boolean,
  specification: integerIn(2, 4),
  prompt: arrayOf(message, 1, messagesMax, 'messages'),
  maxOutputTokens: integerIn(1, Number.MAX_SAFE_INTEGER),
  temperature: numberIn(0, 2),
  topP: numberIn(0, 1),
  topK: integerIn(0, Number.MAX_SAFE_INTEGER),
  presencePenalty: numberIn(-2, 2),
  frequencyPenalty: numberIn(-2, 2),
  stopSequences: arrayOf(string, 0, 2_500, 'texts'),
  seed: integerIn(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  responseFormat: byType("an object with 'type'", "'text' or 'json'", {
    text: null,
    json: members('an object', { schema: object, name: string, description: string }),
  }),
  tools: arrayOf(tool, 0, toolsMax, 'tools'),
  toolChoice: byType("an object with 'type'", "'auto', 'none', 'required' or 'tool'", {
    auto: null,
    none: null,
    required: null,
    tool: members("an object with 'toolName'", { toolName: needed(string, 'the name of a tool') }),
  }),
  reasoning: string,
  includeRawChunks: boolean,
  headers: object,
  providerOptions: object,
});

const required = new Map([['prompt', 'an array of at least one message']]);

export const { invalidFieldIn, unknownFieldsIn } = questionsOf(fields, required);

/** Schema of the body of `POST /v4/ai/language-model` for `/openapi.json`. */
export function requestSchema(): JsonSchema {
  const { model: _, stream: __, specification: ___, ...properties } = Object.fromEntries(fields);
  return bodySchema(Object.entries(properties), required);
}

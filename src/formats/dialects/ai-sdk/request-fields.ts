import { isObject } from '../../../kernel/json.ts';
import { bodySchema, type JsonSchema } from '../../neutral/described-check.ts';
import * as v from '../../neutral/value-checks.ts';
import { plainTable, questionsOf } from '../field-table.ts';

const messagesMax = 100_000;
const partsMax = 10_000;
const toolsMax = 512;

const text = v.members("an object with 'text'", { text: v.needed(v.string, 'a text') });
const fileData = v.textOr(
  v.byType("an object such as {'type': 'data', 'data': '…'}", "'data', 'url', 'text' or 'reference'", {
    data: v.members("an object with 'data'", { data: v.needed(v.string, 'base64') }),
    url: v.members("an object with 'url'", { url: v.needed(v.string, 'an address') }),
    text,
    reference: v.members("an object with 'reference'", { reference: v.needed(v.object, 'ids by provider') }),
  }),
);
const file = v.members("an object with 'data' and 'mediaType'", {
  data: v.needed(fileData, 'base64, an address, or an object with one of them'),
  mediaType: v.needed(v.string, 'the media type'),
  filename: v.string,
});

const resultPart = v.byType("an object with 'type'", "'text', 'file' or 'media'", { text, file }, 'pass');
const output = v.byType("an object with 'type' and 'value'", 'a type of output', {
  text: v.members("an object with 'value'", { value: v.needed(v.string, 'a text') }),
  json: v.members("an object with 'value'", { value: v.anyJson }),
  'error-text': v.members("an object with 'value'", { value: v.needed(v.string, 'a text') }),
  'error-json': v.members("an object with 'value'", { value: v.anyJson }),
  'execution-denied': v.members('an object', { reason: v.string }),
  content: v.members("an object with 'value'", {
    value: v.needed(v.arrayOf(resultPart, 0, partsMax, 'parts'), 'an array'),
  }),
});

const callId = v.needed(v.stringOf(1, 65_536), 'the id of the call');
const part = v.byType(
  "an object such as {'type': 'text', 'text': '…'}",
  'a type of part',
  {
    text,
    reasoning: text,
    file,
    'tool-call': v.members("an object with 'toolCallId', 'toolName' and 'input'", {
      toolCallId: callId,
      toolName: v.needed(v.stringOf(1, 256), 'the name of the tool'),
      input: v.anyJson,
    }),
    'tool-result': v.members("an object with 'toolCallId' and 'output'", {
      toolCallId: callId,
      output: v.needed(output, "an object with 'type' and 'value'"),
    }),
  },
  'pass',
);

const content: v.Check = (value) => {
  if (typeof value === 'string') return null;
  return Array.isArray(value) ? parts(value) : v.complain('', value, 'a text or an array of parts');
};
const parts = v.arrayOf(part, 0, partsMax, 'parts');

const message = v.members("an object with 'role' and 'content'", {
  role: v.needed(v.oneOf('system', 'user', 'assistant', 'tool'), "'system', 'user', 'assistant' or 'tool'"),
  content: v.needed(content, 'a text or an array of parts'),
  providerOptions: v.object,
});

const tool: v.Check = (value) => {
  if (!isObject(value)) return v.complain('', value, "an object with 'type'");
  return value.type === 'function' ? functionTool(value) : providerTool(value);
};
const functionTool = v.members("an object with 'name' and 'inputSchema'", {
  name: v.needed(v.stringOf(1, 256), 'the name of the tool'),
  description: v.string,
  inputSchema: v.object,
  strict: v.boolean,
});
const providerTool = v.members("an object with 'type'", {
  type: v.needed(v.string, "'function', or a tool of a provider"),
  id: v.string,
});

const fields = plainTable({
  model: v.string,
  stream: v.boolean,
  specification: v.integerIn(2, 4),
  prompt: v.arrayOf(message, 1, messagesMax, 'messages'),
  maxOutputTokens: v.integerIn(1, Number.MAX_SAFE_INTEGER),
  temperature: v.numberIn(0, 2),
  topP: v.numberIn(0, 1),
  topK: v.integerIn(0, Number.MAX_SAFE_INTEGER),
  presencePenalty: v.numberIn(-2, 2),
  frequencyPenalty: v.numberIn(-2, 2),
  stopSequences: v.arrayOf(v.string, 0, 2_500, 'texts'),
  seed: v.integerIn(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  responseFormat: v.byType("an object with 'type'", "'text' or 'json'", {
    text: null,
    json: v.members('an object', { schema: v.object, name: v.string, description: v.string }),
  }),
  tools: v.arrayOf(tool, 0, toolsMax, 'tools'),
  toolChoice: v.byType("an object with 'type'", "'auto', 'none', 'required' or 'tool'", {
    auto: null,
    none: null,
    required: null,
    tool: v.members("an object with 'toolName'", { toolName: v.needed(v.string, 'the name of a tool') }),
  }),
  reasoning: v.string,
  includeRawChunks: v.boolean,
  headers: v.object,
  providerOptions: v.object,
});

const required = new Map([['prompt', 'an array of at least one message']]);

export const { invalidFieldIn, unknownFieldsIn } = questionsOf(fields, required);

/** Schema of the body of `POST /v4/ai/language-model` for `/openapi.json`. */
export function requestSchema(): JsonSchema {
  const { model: _, stream: __, specification: ___, ...properties } = Object.fromEntries(fields);
  return bodySchema(Object.entries(properties), required);
}

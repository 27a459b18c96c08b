import { isObject } from '../../../kernel/json.ts';
import { bodySchema, type JsonSchema } from '../../neutral/described-check.ts';
import {
  anyJson,
  arrayOf,
  boolean,
  type Check,
  complain,
  eachOf,
  integerIn,
  members,
  needed,
  numberIn,
  object,
  oneOf,
  optional,
  string,
  stringOf,
} from '../../neutral/value-checks.ts';
import { plainTable, questionsOf } from '../field-table.ts';

const messagesMax = 100_000;
const blocksMax = 10_000;
const toolsMax = 512;

const textObject = members("an object with 'text'", { text: needed(string, 'a text') });
const source = members("an object with 'bytes' in base64", {
  bytes: string,
  text: string,
  content: arrayOf(textObject, 0, blocksMax, 'texts'),
  s3Location: members("an object with 'uri'", { uri: needed(string, 'an address of S3') }),
});
const media = members("an object with 'format' and 'source'", {
  format: string,
  name: string,
  source: needed(source, "an object with 'bytes' in base64"),
  citations: members("an object with 'enabled'", { enabled: boolean }),
});
const cachePoint = members("an object with 'type'", { type: needed(oneOf('default'), "'default'"), ttl: string });
const reasoning = members("an object with 'reasoningText' or 'redactedContent'", {
  reasoningText: members("an object with 'text'", { text: needed(string, 'a text'), signature: string }),
  redactedContent: string,
});
const guarded = members("an object with 'text'", { text: textObject });
const searched = members("an object with 'source', 'title' and 'content'", {
  source: string,
  title: string,
  content: needed(arrayOf(textObject, 0, blocksMax, 'texts'), 'an array of texts'),
});

/** Kinds of blocks by their only member; a block of another kind goes to Bedrock alone. */
const kinds = new Map<string, Check>(
  Object.entries({
    text: string,
    image: media,
    document: media,
    video: media,
    audio: media,
    cachePoint,
    guardContent: guarded,
    searchResult: searched,
    reasoningContent: reasoning,
    citationsContent: members("an object with 'content'", { content: arrayOf(textObject, 0, blocksMax, 'texts') }),
    json: anyJson,
    toolUse: members("an object with 'toolUseId', 'name' and 'input'", {
      toolUseId: needed(stringOf(1, 65_536), 'the id of the call'),
      name: needed(stringOf(1, 256), 'the name of the tool'),
      input: anyJson,
    }),
  }),
);

const block: Check = (value) => {
  if (!isObject(value)) return complain('', value, "an object such as {'text': '…'}");
  for (const name in value) {
    const check = name === 'toolResult' ? toolResult : kinds.get(name);
    const complaint = check === undefined ? null : optional(value, name, check);
    if (complaint !== null) return complaint;
  }
  return null;
};

const toolResult = members("an object with 'toolUseId' and 'content'", {
  toolUseId: needed(stringOf(1, 65_536), 'the id of the call that it answers'),
  content: needed(
    arrayOf((value) => innerBlock(value), 0, blocksMax, 'blocks'),
    'an array of blocks',
  ),
  status: oneOf('success', 'error'),
});

/** Block of a result, which holds no results. */
const innerBlock: Check = (value) =>
  isObject(value) && value.toolResult !== undefined
    ? complain('toolResult', value.toolResult, "a block such as {'text': '…'}")
    : block(value);

const message = members("an object with 'role' and 'content'", {
  role: needed(oneOf('user', 'assistant', 'system'), "'user' or 'assistant'"),
  content: needed(arrayOf(block, 0, blocksMax, 'blocks'), 'an array of blocks'),
});

const tool: Check = (value) => {
  if (!isObject(value)) return complain('', value, "an object with 'toolSpec'");
  return optional(value, 'toolSpec', toolSpec) ?? optional(value, 'cachePoint', cachePoint);
};

const toolSpec = members("an object with 'name' and 'inputSchema'", {
  name: needed(stringOf(1, 256), 'the name of the tool'),
  description: string,
  inputSchema: needed(members("an object with 'json'", { json: object }), "an object with 'json'"),
  strict: boolean,
});

/** Fields that every provider has some form of. Bedrock itself judges those of its callers more closely. */
const fields = plainTable({
  model: string,
  stream: boolean,
  messages: arrayOf(message, 1, messagesMax, 'messages'),
  system: (value) => (Array.isArray(value) ? eachOf(value, block) : complain('', value, 'an array of blocks')),
  inferenceConfig: members('an object', {
    maxTokens: integerIn(1, Number.MAX_SAFE_INTEGER),
    temperature: numberIn(0, 2),
    topP: numberIn(0, 1),
    stopSequences: arrayOf(string, 0, 2_500, 'texts'),
    topK: integerIn(1, Number.MAX_SAFE_INTEGER),
  }),
  toolConfig: members("an object with 'tools'", {
    tools: needed(arrayOf(tool, 0, toolsMax, 'tools'), 'an array of tools'),
    toolChoice: members("an object such as {'auto': {}}", {
      auto: object,
      any: object,
      tool: members("an object with 'name'", { name: needed(string, 'the name of a tool') }),
    }),
  }),
  additionalModelRequestFields: object,
  additionalModelResponseFieldPaths: arrayOf(string, 0, 10, 'paths'),
  outputConfig: members("an object with 'textFormat'", {
    textFormat: members("an object with 'type' and 'structure'", {
      type: needed(oneOf('json_schema'), "'json_schema'"),
      structure: needed(
        members("an object with 'jsonSchema'", {
          jsonSchema: needed(
            members("an object with 'schema'", {
              schema: needed(string, 'a JSON Schema as a text'),
              name: string,
              description: string,
            }),
            "an object with 'schema'",
          ),
        }),
        "an object with 'jsonSchema'",
      ),
    }),
  }),
  serviceTier: members("an object with 'type'", { type: string }),
});

/** `model` and `stream` are of the path. */
const required = new Map([['messages', 'an array of at least one message']]);

export const { invalidFieldIn, unknownFieldsIn } = questionsOf(fields, required);

/** Schema of the body of `POST /model/{modelId}/converse` for `/openapi.json`. */
export function requestSchema(): JsonSchema {
  const { model: _, stream: __, ...properties } = Object.fromEntries(fields);
  return bodySchema([...Object.entries(properties), ...ofBedrockAlone], required);
}

const ofBedrockAlone = plainTable({
  guardrailConfig: object,
  performanceConfig: object,
  promptVariables: object,
  requestMetadata: object,
});

import { isObject } from '../../../kernel/json.ts';
import { bodySchema, type JsonSchema } from '../../neutral/described-check.ts';
import * as v from '../../neutral/value-checks.ts';
import { plainTable, questionsOf } from '../field-table.ts';

const messagesMax = 100_000;
const blocksMax = 10_000;
const toolsMax = 512;

const textObject = v.members("an object with 'text'", { text: v.needed(v.string, 'a text') });
const source = v.members("an object with 'bytes' in base64", {
  bytes: v.string,
  text: v.string,
  content: v.arrayOf(textObject, 0, blocksMax, 'texts'),
  s3Location: v.members("an object with 'uri'", { uri: v.needed(v.string, 'an address of S3') }),
});
const media = v.members("an object with 'format' and 'source'", {
  format: v.string,
  name: v.string,
  source: v.needed(source, "an object with 'bytes' in base64"),
  citations: v.members("an object with 'enabled'", { enabled: v.boolean }),
});
const cachePoint = v.members("an object with 'type'", {
  type: v.needed(v.oneOf('default'), "'default'"),
  ttl: v.string,
});
const reasoning = v.members("an object with 'reasoningText' or 'redactedContent'", {
  reasoningText: v.members("an object with 'text'", { text: v.needed(v.string, 'a text'), signature: v.string }),
  redactedContent: v.string,
});
const guarded = v.members("an object with 'text' or 'image'", { text: textObject, image: media });
const searched = v.members("an object with 'source', 'title' and 'content'", {
  source: v.string,
  title: v.string,
  content: v.needed(v.arrayOf(textObject, 0, blocksMax, 'texts'), 'an array of texts'),
});

/** Kinds of blocks by their only member; a block of another kind goes to Bedrock alone. */
const kinds = new Map<string, v.Check>(
  Object.entries({
    text: v.string,
    image: media,
    document: media,
    video: media,
    audio: media,
    cachePoint,
    guardContent: guarded,
    searchResult: searched,
    reasoningContent: reasoning,
    citationsContent: v.members("an object with 'content'", { content: v.arrayOf(textObject, 0, blocksMax, 'texts') }),
    json: v.anyJson,
    toolUse: v.members("an object with 'toolUseId', 'name' and 'input'", {
      toolUseId: v.needed(v.stringOf(1, 65_536), 'the id of the call'),
      name: v.needed(v.stringOf(1, 256), 'the name of the tool'),
      input: v.anyJson,
    }),
  }),
);

const block: v.Check = (value) => {
  if (!isObject(value)) return v.complain('', value, "an object such as {'text': '…'}");
  for (const name in value) {
    const check = name === 'toolResult' ? toolResult : kinds.get(name);
    const complaint = check === undefined ? null : v.optional(value, name, check);
    if (complaint !== null) return complaint;
  }
  return null;
};

const toolResult = v.members("an object with 'toolUseId' and 'content'", {
  toolUseId: v.needed(v.stringOf(1, 65_536), 'the id of the call that it answers'),
  content: v.needed(
    v.arrayOf((value) => innerBlock(value), 0, blocksMax, 'blocks'),
    'an array of blocks',
  ),
  status: v.oneOf('success', 'error'),
});

/** Block of a result, which holds no results. */
const innerBlock: v.Check = (value) =>
  isObject(value) && value.toolResult !== undefined
    ? v.complain('toolResult', value.toolResult, "a block such as {'text': '…'}")
    : block(value);

const message = v.members("an object with 'role' and 'content'", {
  role: v.needed(v.oneOf('user', 'assistant', 'system'), "'user' or 'assistant'"),
  content: v.needed(v.arrayOf(block, 0, blocksMax, 'blocks'), 'an array of blocks'),
});

const tool: v.Check = (value) => {
  if (!isObject(value)) return v.complain('', value, "an object with 'toolSpec'");
  return v.optional(value, 'toolSpec', toolSpec) ?? v.optional(value, 'cachePoint', cachePoint);
};

const toolSpec = v.members("an object with 'name' and 'inputSchema'", {
  name: v.needed(v.stringOf(1, 256), 'the name of the tool'),
  description: v.string,
  inputSchema: v.needed(v.members("an object with 'json'", { json: v.object }), "an object with 'json'"),
  strict: v.boolean,
});

/** Fields that every provider has some form of. Bedrock itself judges those of its callers more closely. */
const fields = plainTable({
  model: v.string,
  stream: v.boolean,
  messages: v.arrayOf(message, 1, messagesMax, 'messages'),
  system: (value) => (Array.isArray(value) ? v.eachOf(value, block) : v.complain('', value, 'an array of blocks')),
  inferenceConfig: v.members('an object', {
    maxTokens: v.integerIn(1, Number.MAX_SAFE_INTEGER),
    temperature: v.numberIn(0, 2),
    topP: v.numberIn(0, 1),
    stopSequences: v.arrayOf(v.string, 0, 2_500, 'texts'),
    topK: v.integerIn(1, Number.MAX_SAFE_INTEGER),
  }),
  toolConfig: v.members("an object with 'tools'", {
    tools: v.needed(v.arrayOf(tool, 0, toolsMax, 'tools'), 'an array of tools'),
    toolChoice: v.members("an object such as {'auto': {}}", {
      auto: v.object,
      any: v.object,
      tool: v.members("an object with 'name'", { name: v.needed(v.string, 'the name of a tool') }),
    }),
  }),
  additionalModelRequestFields: v.object,
  additionalModelResponseFieldPaths: v.arrayOf(v.string, 0, 10, 'paths'),
  outputConfig: v.members("an object with 'textFormat'", {
    textFormat: v.members("an object with 'type' and 'structure'", {
      type: v.needed(v.oneOf('json_schema'), "'json_schema'"),
      structure: v.needed(
        v.members("an object with 'jsonSchema'", {
          jsonSchema: v.needed(
            v.members("an object with 'schema'", {
              schema: v.needed(v.string, 'a JSON Schema as a text'),
              name: v.string,
              description: v.string,
            }),
            "an object with 'schema'",
          ),
        }),
        "an object with 'jsonSchema'",
      ),
    }),
  }),
  serviceTier: v.members("an object with 'type'", { type: v.string }),
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
  guardrailConfig: v.object,
  performanceConfig: v.object,
  promptVariables: v.object,
  requestMetadata: v.object,
});

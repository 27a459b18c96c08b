import type { Failure } from '../../../kernel/failure.ts';
import type { JsonObject } from '../../../kernel/json.ts';
import { invalidField, plainTable, unknownFields } from '../../dialects/field-table.ts';
import { bodySchema, type Check, type JsonSchema } from '../../neutral/described-check.ts';
import * as v from '../../neutral/value-checks.ts';

/** Models of the AI SDK that neither chat nor embed, by the last part of their path. */
export type MediaKind = 'image' | 'speech' | 'transcription' | 'reranking' | 'video';

const filesMax = 16;

const file = v.byType("an object such as {'type': 'file', 'mediaType': 'image/png', 'data': '…'}", "'file' or 'url'", {
  file: v.members("an object with 'data'", { data: v.needed(v.string, 'base64'), mediaType: v.string }),
  url: v.members("an object with 'url'", { url: v.needed(v.string, 'an address') }),
});
const frame = v.members("an object with 'image' and 'frameType'", {
  image: v.needed(file, 'a picture'),
  frameType: v.needed(v.string, "'first_frame' or 'last_frame'"),
});
const documents = v.byType(
  "an object such as {'type': 'text', 'values': ['…']}",
  "'text' or 'object'",
  Object.fromEntries(
    Object.entries({ text: v.string, object: v.object }).map(([type, item]) => {
      const values = v.arrayOf(item, 1, Number.POSITIVE_INFINITY, type === 'text' ? 'texts' : 'objects');
      return [type, v.members("an object with 'values'", { values: v.needed(values, 'an array of documents') })];
    }),
  ),
);
const seed = v.integerIn(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
const count = v.integerIn(1, Number.MAX_SAFE_INTEGER);

/** Bounds of values are those of the families, which name the field too. */
const fieldsOf: Readonly<Record<MediaKind, Readonly<Record<string, Check>>>> = {
  image: {
    prompt: v.string,
    n: count,
    size: v.string,
    aspectRatio: v.string,
    seed,
    files: v.arrayOf(file, 1, filesMax - 1, 'pictures'),
    mask: file,
  },
  speech: {
    text: v.string,
    voice: v.string,
    outputFormat: v.string,
    instructions: v.string,
    speed: v.numberIn(0.25, 4),
    language: v.string,
  },
  transcription: { audio: v.string, mediaType: v.string },
  reranking: { documents, query: v.string, topN: count },
  video: {
    prompt: v.string,
    n: count,
    aspectRatio: v.string,
    resolution: v.string,
    duration: v.numberIn(1, 3_600),
    fps: v.numberIn(1, 1_000),
    seed,
    generateAudio: v.boolean,
    image: file,
    frameImages: v.arrayOf(frame, 0, filesMax, 'frames'),
    inputReferences: v.arrayOf(file, 0, filesMax, 'files'),
    callbackUrl: v.string,
  },
};

const requiredOf: Readonly<Record<MediaKind, ReadonlyMap<string, string>>> = {
  image: new Map([['prompt', 'a text that says what to draw']]),
  speech: new Map([['text', 'the text to speak']]),
  transcription: new Map([['audio', 'the sound in base64']]),
  reranking: new Map([
    ['documents', 'an object with type and values'],
    ['query', 'the text that the documents answer'],
  ]),
  video: new Map([['prompt', 'a text that says what to film']]),
};

function tableOf(kind: MediaKind): ReadonlyMap<string, readonly [Check]> {
  return plainTable({ ...fieldsOf[kind], providerOptions: v.object });
}

/** The first fault of a call's body, which names its field; null when there is none. */
export function invalidMediaField(kind: MediaKind, body: JsonObject): Failure | null {
  return invalidField(tableOf(kind), body, requiredOf[kind]);
}

/** Fields of a body that no version of the call has. */
export function unknownMediaFields(kind: MediaKind, body: JsonObject): string[] {
  return unknownFields(tableOf(kind), body);
}

/** Schema of a call's body for `/openapi.json`. */
export function mediaSchema(kind: MediaKind): JsonSchema {
  return bodySchema(tableOf(kind), requiredOf[kind]);
}

const operationSend = 'the operation that the start of the video answered';
const operationFields = plainTable({ operation: v.members(operationSend, { id: v.needed(v.string, operationSend) }) });
const operationRequired = new Map([['operation', operationSend]]);

/** Body that asks for the state of a video. The operation is one that a start of it answered. */
export function videoStatusSchema(): JsonSchema {
  return bodySchema(operationFields, operationRequired);
}

/** Id of the video that such a body names, or the fault that names its field. */
export function operationIn(body: JsonObject): string | Failure {
  return invalidField(operationFields, body, operationRequired) ?? String((body.operation as JsonObject).id);
}
